/** A process that ends gives back the leases of what it has begun and cannot end. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();
const longWork = {
  "a step": (step: TestedStep, body: Parameters<TestedStep["run"]>[1]) => step.run("long", body),
  "a branch": (step: TestedStep, body: Parameters<TestedStep["run"]>[1]) =>
    Promise.all([step.run("long", body), step.run("quick", () => 1)]),
};

describe.each(Object.entries(longWork))("the lease of %s that is under way when its process ends", (_, demand) => {
  test("is given back, so that the next process begins it at once; its abort signal fires", async () => {
    const aborted: boolean[] = [];
    let bodies = 0;
    const world = await worldOf(
      database,
      async ({ step }) => {
        await demand(step, async ({ abortSignal }) => {
          bodies += 1;
          abortSignal.addEventListener("abort", () => aborted.push(true));
          if (bodies === 1) await new Promise(() => {});
          return "done";
        });
      },
      { platform: "node" },
    );
    const run = await world.start(tested);
    await world.pass("5s");
    await world.giveBack();
    world.crash();
    expect((await world.run(run)).status).toBe("completed");
    expect({ time: world.time, bodies, aborted }).toEqual({ time: 5_000, bodies: 2, aborted: [true] });
  });

  test("is not finished any more by whoever has given it back", async () => {
    let end = () => {};
    const world = await worldOf(
      database,
      async ({ step }) => {
        await demand(step, async () => {
          await new Promise<void>((resolve) => {
            end = resolve;
          });
        });
      },
      { platform: "node" },
    );
    await world.start(tested);
    await world.pass("5s");
    await world.giveBack();
    const finishes = world.statements("finish_turns");
    end();
    await world.settle();
    expect(world.statements("finish_turns")).toBe(finishes);
  });
});

test("a lease whose finish was sent is not given back", async () => {
  const world = await worldOf(database, async ({ step }) => step.run("a", () => 1), { platform: "node" });
  world.fate = ({ what }) => (what === "finish_turns" ? "is never answered" : "passes");
  await world.start(tested);
  await world.pass("1s");
  await world.giveBack();
  expect(world.statements("return_leases")).toBe(0);
});

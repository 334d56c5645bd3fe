/** A run that fails while the body of a step that runs at most once is at work. A retry must not run that body again. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { type TestedContext, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const atMostOnce = { semantics: "at-most-once" } as const;
const once = { retry: { maxAttempts: 1 } };

/** The ways to have the step beside another one that fails for good, and the step's path in each. */
const places: Readonly<
  Record<
    string,
    [name: string, (context: TestedContext, pay: () => unknown, reserve: () => unknown) => Promise<unknown>]
  >
> = {
  "Promise.all": [
    "charge",
    ({ step }, pay, reserve) => Promise.all([step.run("charge", pay, atMostOnce), step.run("reserve", reserve, once)]),
  ],
  "a map that fails fast": [
    "all[0]/act",
    ({ step }, pay, reserve) => step.map("all", [pay, reserve], (act, { step }) => step.run("act", act, atMostOnce)),
  ],
  "a race": [
    "both[0]/charge",
    ({ step }, pay, reserve) =>
      step.race("both", [
        ({ step }) => step.run("charge", pay, atMostOnce),
        ({ step }) => step.run("reserve", reserve, once),
      ]),
  ],
};

/** Plays a run until its `reserve` has failed it, and mends that. */
async function failed(stand: (typeof places)[string][1], pay: (world: World) => unknown) {
  const told = { bodies: 0, reserves: 0, isBroken: true };
  const reserve = () => {
    told.reserves += 1;
    if (told.isBroken) throw new Error("sold out");
    return "reserved";
  };
  const handle = (context: TestedContext) =>
    stand(
      context,
      () => {
        told.bodies += 1;
        return pay(world);
      },
      reserve,
    );
  const world: World = await worldOf(database, handle, { processes: 2, batch: 1 });
  const run = await world.start(tested);
  return { world, run, told };
}

describe.each(Object.entries(places))("a body that runs at most once, in %s", (where, [name, stand]) => {
  test("has its result kept where another step fails the run", async () => {
    const { world, run, told } = await failed(stand, async (world) => {
      await world.foreign("20s");
      return "paid";
    });
    expect(await world.run(run)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("sold out") },
    });
    told.isBroken = false;
    await world.ask((client) => client.retry(run.runId));
    const result = where === "a race" ? "paid" : ["paid", "reserved"];
    expect(await world.run(run)).toMatchObject({ status: "completed", result });
    expect(told.bodies).toBe(1);
  });

  test.each(["its process dies", "it never ends"])("needs its result from a person where %s then", async (how) => {
    const { world, run, told } = await failed(stand, () => new Promise(() => {}));
    world.fate = ({ what }) => {
      if (what !== "renew_leases" || told.reserves === 0 || how !== "its process dies") return "passes";
      world.fate = () => "passes";
      return "dies before";
    };
    expect(await world.run(run)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("sold out") },
    });
    told.isBroken = false;
    await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
      code: "result_needed",
      details: { places: name },
    });
    await world.ask((client) => client.retry(run.runId, { results: { [name]: "by hand" } }));
    const result = where === "a race" ? "by hand" : ["by hand", "reserved"];
    expect(await world.run(run)).toMatchObject({ status: "completed", result });
    expect(told.bodies).toBe(1);
  });
});

test("a run whose output is wrong keeps what a body that runs at most once has come to", async () => {
  let bodies = 0;
  const state = { isWrong: true };
  const picky = workflow({ name: "picky", version: 1, output: z.number() });
  const handle = picky.handler(async ({ step }) => {
    const charge = step.run("charge", async () => (++bodies === 1 ? await world.foreign("20s") : 0), atMostOnce);
    await step.sleep("nap", "5s");
    if (state.isWrong) return JSON.parse('"wrong"');
    await charge;
    return 1;
  });
  const world: World = await World.begin(database, { workflows: [handle] });
  const run = await world.start(picky);
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "invalid_output" } });
  state.isWrong = false;
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: 1 });
  expect(bodies).toBe(1);
});

test("a step that runs at most once and has not begun is carried out by a retry", async () => {
  const items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const told = { bodies: 0, isBroken: true };
  const act = () => {
    told.bodies += 1;
    if (told.isBroken) throw new Error("no");
  };
  const world = await worldOf(database, ({ step }) =>
    step.map("all", items, (_, { step }) => step.run("act", act, atMostOnce), { maxConcurrency: 1 }),
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  const { bodies } = told;
  expect(bodies).toBeLessThan(10);
  told.isBroken = false;
  await world.ask((client) => client.retry(run.runId));
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(told.bodies).toBe(bodies + 10);
});

/** An invoked run whose result a store keeps: an end that cannot be read is not recorded, and its undo waits for one that can. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { cancel, recordsOf } from "./cancelling.ts";
import { child } from "./families.ts";
import { tested } from "./playing.ts";
import { build, mebibyte, text } from "./storing.ts";
import { World } from "./world.ts";

const database = testDatabase();

test.each([
  ["another store", new MemoryStore()],
  ["no store", undefined],
])(
  "a deployment with %s records no end that it cannot read: the right one does, and the undo is told the result",
  async (_, wrong) => {
    const told: unknown[] = [];
    const compensate = (result: unknown, { outcome }: { readonly outcome: string }) =>
      void told.push([result, outcome]);
    const store = new MemoryStore();
    const world: World = await World.begin(database, {
      ...build("a"),
      workflows: [
        tested.handler(async ({ step }) => void (await step.invoke("it", child, { nr: 1 }, { compensate }))),
        child.handler(async ({ step }) => {
          await step.run("work", () => world.foreign("30s"));
          return text("r");
        }),
      ],
      values: { store },
    });
    const run = await world.start(tested);
    await world.pass("10s");
    await world.ask((client) => client.pause(run.runId));
    await world.pass("2 minutes"); // so that the build before is older
    await world.deploy({ ...build("b"), values: wrong === undefined ? undefined : { store: wrong } });
    await cancel(world, run);
    await world.pass("2 minutes");
    expect(told).toEqual([]);
    expect(await recordsOf({ world, run })).toEqual(["closing "]);
    await world.deploy({ ...build("c"), values: { store } });
    expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1 } });
    expect(told).toEqual([["r".repeat(2 * mebibyte), "succeeded"]]);
  },
);

test("a run whose undos need more of the store than a turn can hold is blocked, and goes on with more room: none of them fails", async () => {
  const told: unknown[] = [];
  const compensate = (result: unknown, { outcome }: { readonly outcome: string }) =>
    void told.push([String(result).length, outcome]);
  const store = new MemoryStore();
  const world: World = await World.begin(database, {
    ...build("a"),
    workflows: [
      tested.handler(async ({ step }) => {
        await Promise.all([1, 2, 3].map((nr) => step.invoke(`it ${nr}`, child, { nr }, { compensate })));
      }),
      child.handler(async ({ step }) => {
        await step.run("work", () => world.foreign("30s"));
        return text("r");
      }),
    ],
    values: { store, memoryBytes: 5 * mebibyte },
  });
  const run = await world.start(tested);
  await world.pass("10s");
  await world.ask((client) => client.pause(run.runId));
  await world.pass("2 minutes");
  await cancel(world, run);
  await world.pass("2 minutes");
  expect(await world.get(run.runId)).toMatchObject({
    status: "blocked",
    blocked: expect.stringContaining("more than 5242880 bytes together (memoryBytes)"),
  });
  await world.deploy({ ...build("b"), values: { store } });
  expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 3, done: 3, failed: 0 } });
  expect(told).toEqual([1, 2, 3].map(() => [2 * mebibyte, "succeeded"]));
});

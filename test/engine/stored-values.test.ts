/** Values beyond the limit, which a store of the user's keeps: they are there when they are needed, and small values are not in the store. */
import { type StepContext, workflow } from "layover";
import { encrypted } from "layover/encryption";
import { withStore } from "layover/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { Client } from "../../src/client/over-postgres/client.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { aWorld, both, build, mebibyte, report, sentOn, text } from "./storing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("an input, a result and the run's result of some MiB", () => {
  test("are in the store, and the database has their names", async () => {
    const { world, keys, held } = await aWorld(database);
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    expect(keys()).toHaveLength(2);
    const view = await sentOn(world, run);
    expect(view).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
    expect(view.input).toBe(text("i"));
    expect(keys()).toHaveLength(4);
    expect((await held()).map(({ key }) => key)).toEqual(keys());
    const { rows } = await database.pool.query<{ bytes: number }>(
      `select octet_length(r.input) as bytes from layover.run r where r.id = $1
       union all select octet_length(h.value) from layover.record h where h.run_id = $1 and h.kind = 'step'
       union all select octet_length(t.result) from layover.run_state t where t.run_id = $1`,
      [run.runId],
    );
    expect(rows).toHaveLength(4);
    for (const { bytes } of rows) expect(bytes).toBeLessThan(250);
  });

  test("are read again by the process that comes after a crash", async () => {
    const { world } = await aWorld(database);
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    world.crash();
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
  });

  test("are encrypted before, where the database is encrypted", async () => {
    const { world, store } = await aWorld(database, { keys: testKeys });
    const run = await world.start(report, text("i"), { id: "one" });
    expect((await world.start(report, text("i"), { id: "one" })).runId).toBe(run.runId);
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
    const kept = [...store.values.values()].map((bytes) => new TextDecoder().decode(bytes));
    expect(kept.every((one) => one.startsWith("2sealed."))).toBe(true);
  });

  test("are encrypted before, though the store was given first", async () => {
    const store = new MemoryStore();
    const query = encrypted(withStore(database.query, { store }), testKeys);
    const calls = makeCalls({ query, namespace: "wrapped", alarm: async () => {} });
    const client = new Client({ calls, dispatch: async () => {}, wake: async () => {} });
    await calls.adoptEnvironment("test");
    const run = await client.start(report, text("i"));
    const [kept = new Uint8Array()] = store.values.values();
    expect(new TextDecoder().decode(kept.subarray(0, 8))).toBe("2sealed.");
    expect((await client.get(run.runId)).input).toBe(text("i"));
  });

  test("may be so long, and no longer", async () => {
    const { world } = await aWorld(database);
    const tooLong = world.start(report, text("i", 33 * mebibyte));
    await expect(tooLong).rejects.toMatchObject({ code: "value_too_large" });
  });

  test("may not be longer together than a turn can hold: then the run is blocked, and says why", async () => {
    const store = new MemoryStore();
    const values = { store, memoryBytes: 3 * mebibyte };
    const { world } = await aWorld(database, { values });
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    world.crash();
    await world.ask((client) => client.signal(run.runId, "go", null, { contract: report }));
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({
      status: "blocked",
      blocked: expect.stringContaining("more than 3145728 bytes together (memoryBytes)"),
    });
    await world.deploy({ ...build("b"), values: { store } });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });
});

test("runs that are due at one instant are claimed in parts, so that the values of each have room", async () => {
  const sleeper = workflow({ name: "sleeper", version: 1, input: z.string(), output: z.number() });
  const store = new MemoryStore();
  const world = await World.begin(database, {
    ...build("a"),
    workflows: [
      sleeper.handler(async ({ input, step }) => {
        await step.sleep("nap", "1 hour");
        return input.length;
      }),
    ],
    values: { store, memoryBytes: 3 * mebibyte },
    batch: 100,
  });
  const runs = await Promise.all([1, 2, 3, 4].map(() => world.start(sleeper, text("i"))));
  await world.pass("1 minute");
  world.crash();
  await world.pass("2 hours");
  for (const { runId } of runs)
    expect(await world.get(runId)).toMatchObject({ status: "completed", result: 2 * mebibyte });
});

test("a list leaves them out, and asks the store for none", async () => {
  const { world, store } = await aWorld(database);
  await world.start(report, text("i"));
  await world.pass("1 minute");
  store.values.clear();
  const { runs } = await world.ask((client) => client.list());
  expect(runs[0]?.input).toMatchObject({ reason: expect.stringContaining("too long for this answer") });
});

describe("the same start again", () => {
  test("is the same run, though its input was stored twice", async () => {
    const { world, held, keys } = await aWorld(database);
    const run = await world.start(report, text("i"), { id: "one" });
    expect((await world.start(report, text("i"), { id: "one" })).runId).toBe(run.runId);
    await expect(world.start(report, text("j"), { id: "one" })).rejects.toMatchObject({ code: "input_conflict" });
    await world.pass("61 minutes");
    await world.tick();
    const ofRun = (await held()).filter(({ run_id }) => run_id === run.runId);
    expect((await held()).map(({ key }) => key)).toEqual(keys());
    expect(ofRun).toHaveLength(2);
  });
});

test("small values, and runs that have no others, have nothing in the store and no row", async () => {
  const { world, keys, held } = await aWorld(database);
  const small = workflow({ name: "small", version: 1 }).handler(async ({ step }) => {
    await step.run("work", (_: StepContext) => text("s", 100_000));
  });
  await world.deploy({ ...build("b"), workflows: [both, small] });
  const run = await world.start(small.contract);
  await world.run(run);
  expect([keys(), await held(), world.statements("hold_values")]).toEqual([[], [], 0]);
});

/** Values beyond the limit, which a store of the user's keeps: they are there when they are needed, and go with the last run that holds them. */
import { randomUUID } from "node:crypto";
import { type StepContext, workflow } from "layover";
import { encrypted } from "layover/encryption";
import { withStore } from "layover/store";
import { Pool } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { Client } from "../../src/client/over-postgres/client.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

const database = testDatabase();
const mebibyte = 1024 * 1024;
const text = (letter: string, bytes = 2 * mebibyte) => letter.repeat(bytes);

const report = workflow({
  name: "report",
  version: 1,
  input: z.string(),
  output: z.string(),
  signals: { go: z.null() },
});
const both = report.handler(async ({ input, step }) => {
  const read = await step.run("read", () => text("r"));
  await step.waitForSignal("go");
  return await step.run("join", () => input.slice(0, 10) + read);
});

const build = (id: string) => ({ deployment: { name: "server", id } });

async function aWorld(more: Partial<WorldOptions> = {}) {
  const store = new MemoryStore();
  const world = await World.begin(database, {
    ...build("a"),
    workflows: [both],
    values: { store, timeoutMs: 50 },
    ...more,
  });
  const held = async () => {
    const { rows } = await database.pool.query<{ run_id: string; key: string }>(
      "select run_id, key from layover.stored_value where namespace = $1 order by key, run_id",
      [world.namespace],
    );
    return rows;
  };
  const keys = () => [...store.values.keys()].sort();
  return { world, store, held, keys };
}

async function sentOn(world: World, run: { readonly runId: string }) {
  await world.ask((client) => client.signal(run.runId, "go", null, { contract: report }));
  return await world.run(run);
}

/** Two builds refuse the run, so that it is blocked. */
async function refusedByTwo(world: World, run: { readonly runId: string }, values: WorldOptions["values"]) {
  await world.pass("1 minute"); // so that the build before is older
  await world.deploy({ ...build("b"), values });
  await world.ask((client) => client.signal(run.runId, "go", null, { contract: report }));
  await world.pass("2 minutes");
  await world.deploy({ ...build("c"), values });
  await world.pass("2 minutes");
}

describe("an input, a result and the run's result of some MiB", () => {
  test("are in the store, and the database has their names", async () => {
    const { world, keys, held } = await aWorld();
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
    const { world } = await aWorld();
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    world.crash();
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
  });

  test("are encrypted before, where the database is encrypted", async () => {
    const { world, store } = await aWorld({ keys: testKeys });
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
    const { world } = await aWorld();
    const tooLong = world.start(report, text("i", 33 * mebibyte));
    await expect(tooLong).rejects.toMatchObject({ code: "value_too_large" });
  });

  test("may not be longer together than a turn can hold: then the run is blocked, and says why", async () => {
    const store = new MemoryStore();
    const values = { store, memoryBytes: 3 * mebibyte };
    const { world } = await aWorld({ values });
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

test("a transaction has the only connection, so the database keeps its result, with the limit of the database", async () => {
  const written = workflow({ name: "written", version: 1, output: z.number() });
  const results: number[] = [];
  const store = new MemoryStore();
  const world = await World.begin(database, {
    ...build("a"),
    workflows: [
      written.handler(async ({ step }) => {
        for (const size of [mebibyte / 2, 2 * mebibyte]) {
          const made = step.transaction("write", async () => text("w", size), { retry: { maxAttempts: 1 } });
          results.push(
            await made.then(
              ({ length }) => length,
              () => -1,
            ),
          );
        }
        return results.length;
      }),
    ],
    values: { store },
  });
  const run = await world.start(written);
  expect(await world.run(run)).toMatchObject({ status: "completed" });
  expect(results.slice(-2)).toEqual([mebibyte / 2, -1]);
  expect(store.values.size).toBe(0);
});

test("a list leaves them out, and asks the store for none", async () => {
  const { world, store } = await aWorld();
  await world.start(report, text("i"));
  await world.pass("1 minute");
  store.values.clear();
  const { runs } = await world.ask((client) => client.list());
  expect(runs[0]?.input).toMatchObject({ reason: expect.stringContaining("too long for this answer") });
});

describe("the same start again", () => {
  test("is the same run, though its input was stored twice", async () => {
    const { world, held, keys } = await aWorld();
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

describe("a store that does not work", () => {
  const fates = ["fails before", "fails after", "is never answered"] as const;

  test.each(fates)("holds up a step whose result it does not take, and loses nothing: its put %s", async (fate) => {
    const { world, store, keys, held } = await aWorld();
    const run = await world.start(report, text("i"));
    store.fates.put.push(fate, fate);
    await world.pass("2 minutes");
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
    await world.pass("2 hours");
    await world.tick();
    expect((await held()).map(({ key }) => key)).toEqual(expect.arrayContaining(keys()));
  });

  test.each(fates)("holds up a start whose input it does not take, which is tried again: its put %s", async (fate) => {
    const { world, store } = await aWorld();
    store.fates.put.push(fate, fate);
    const run = await world.start(report, text("i"));
    expect((await world.get(run.runId)).input).toBe(text("i"));
  });

  test("that fails is asked once a sweep to delete, however much there is", async () => {
    const { world, store, keys } = await aWorld();
    const values = Array.from({ length: 250 }, (_, index) => ({ runId: randomUUID(), key: `k${index}`, bytes: 1 }));
    const call = JSON.stringify({ namespace: world.namespace, values });
    await database.pool.query("select layover.hold_values($1)", [call]);
    for (const { key } of values) store.values.set(key, new Uint8Array(1));
    store.fates.delete.push("is never answered", "works");
    await world.pass("61 minutes");
    await world.tick();
    expect(store.fates.delete).toEqual(["works"]);
    await world.pass("12 minutes");
    expect(keys()).toEqual([]);
  });

  test.each(fates)("holds up a run whose values it does not answer: its get %s", async (fate) => {
    const { world, store } = await aWorld();
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    world.crash();
    store.fates.get.push(fate, fate, fate);
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
  });

  test.each(fates)("is asked again for what it was to delete: its delete %s", async (fate) => {
    const { world, store, keys, held } = await aWorld();
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    await world.ask((client) => client.delete(run.runId));
    store.fates.delete.push(fate);
    await world.pass("61 minutes");
    await world.tick();
    expect(await held()).toHaveLength(4);
    await world.pass("11 minutes");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });

  test("blocks a run whose value it does not have, until a deployment has the right one", async () => {
    const { world, store } = await aWorld();
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    await refusedByTwo(world, run, { store: new MemoryStore() });
    expect(await world.get(run.runId)).toMatchObject({
      status: "blocked",
      blocked: expect.stringContaining("the store has nothing under"),
    });
    await world.deploy({ ...build("d"), values: { store } });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });

  test("blocks a run whose value somebody has changed there", async () => {
    const { world, store, keys } = await aWorld();
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    world.crash();
    const [key = ""] = keys();
    const whole = store.values.get(key) ?? new Uint8Array();
    store.values.set(key, whole.with(9, 0x78));
    await world.ask((client) => client.signal(run.runId, "go", null, { contract: report }));
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({
      blocked: expect.stringContaining("is not what was put there"),
    });
  });
});

test("a build without the store blocks a run that has values there", async () => {
  const { world, store } = await aWorld();
  const run = await world.start(report, text("i"));
  await world.pass("1 minute");
  await refusedByTwo(world, run, undefined);
  expect(await world.get(run.runId)).toMatchObject({
    status: "blocked",
    blocked: expect.stringMatching(/it is kept in a store, 2097\d{3} bytes under "[\w/.-]+"/),
  });
  await world.deploy({ ...build("d"), values: { store } });
  expect(await world.run(run)).toMatchObject({ status: "completed" });
});

describe("values of a run that is gone", () => {
  test("go an hour later, and no sooner", async () => {
    const { world, keys, held } = await aWorld();
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    await world.pass("2 hours"); // each is looked at once, as its run is there
    await world.tick();
    await world.ask((client) => client.delete(run.runId));
    await world.pass("59 minutes");
    await world.tick();
    expect(keys()).toHaveLength(4);
    await world.pass("2 minutes");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });

  test("go by an alarm of their own, though nothing else is due", async () => {
    const { world, keys } = await aWorld({ keepMs: 24 * 3_600_000 });
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    await world.pass("26 hours");
    await world.tick(); // deletes the run, and arms what comes after it
    await world.pass("2 hours");
    expect(keys()).toEqual([]);
  });

  test("stay for the run that was forked from it, and go with that", async () => {
    const { world, keys, held } = await aWorld();
    const run = await world.start(report, text("i"));
    await sentOn(world, run);
    const fork = await world.ask((client) => client.fork(run.runId));
    await world.ask((client) => client.delete(run.runId));
    await world.pass("3 hours");
    await world.tick();
    expect(await world.get(fork.runId)).toMatchObject({ input: text("i") });
    await sentOn(world, fork);
    expect((await held()).every(({ run_id }) => run_id === fork.runId)).toBe(true);
    await world.ask((client) => client.delete(fork.runId));
    await world.pass("3 hours");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });

  test("stay for the parent that has its result", async () => {
    const parent = workflow({ name: "parent", version: 1, output: z.number(), signals: { go: z.null() } });
    const asks = parent.handler(async ({ step }) => {
      const told = await step.invoke("child", report, text("i"));
      await step.waitForSignal("go");
      return told.length;
    });
    const { world, keys } = await aWorld({ workflows: [both, asks] });
    const run = await world.start(parent);
    await world.pass("1 minute");
    const { rows } = await database.pool.query<{ id: string }>("select id from layover.run where parent_run_id = $1", [
      run.runId,
    ]);
    const child = { runId: rows[0]?.id ?? "" };
    await world.ask((client) => client.pause(run.runId)); // it does not look at the result before the child is gone
    await sentOn(world, child);
    await world.pass("1 minute");
    await world.ask((client) => client.delete(child.runId));
    await world.pass("3 hours");
    await world.tick();
    expect(keys()).toHaveLength(1); // what else the child had is gone with it
    await world.ask((client) => client.resume(run.runId));
    await world.ask((client) => client.signal(run.runId, "go", null, { contract: parent }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 2 * mebibyte + 10 });
  });

  test("go if the run was never started, as its start failed", async () => {
    const { world, keys, held } = await aWorld();
    world.fate = ({ what }) => (what === "start_run" ? "fails before" : "passes");
    await world.start(report, text("i")).catch(() => {});
    expect(await held()).toHaveLength(1);
    world.fate = () => "passes";
    await world.pass("61 minutes");
    await world.tick();
    expect([keys(), await held()]).toEqual([[], []]);
  });
});

test("a transaction that starts a run has the only connection, so the database keeps the input, with its own limit", async () => {
  const store = new MemoryStore();
  const pool = new Pool({ ...database.pool.options, max: 1, connectionTimeoutMillis: 2_000 });
  onTestFinished(() => pool.end());
  const query = withStore(pg(pool), { store });
  const calls = makeCalls({ query, namespace: "single", alarm: async () => {} });
  const client = new Client({ calls, dispatch: async () => {}, wake: async () => {} });
  await calls.adoptEnvironment("test");
  const input = text("i", mebibyte / 2);
  const connection = await pool.connect();
  const start = async () => {
    await connection.query("begin");
    const { runId } = await client.startIn(pg(connection), report, input, { id: "one" });
    const tooLong = client.startIn(pg(connection), report, text("i"));
    await expect(tooLong).rejects.toMatchObject({ code: "value_too_large" });
    await connection.query("commit");
    return runId;
  };
  const runId = await start().finally(() => connection.release());
  expect((await client.get(runId)).input).toBe(input);
  expect(store.values.size).toBe(0);
  expect((await client.start(report, input, { id: "one" })).runId).toBe(runId);
});

test("small values, and runs that have no others, have nothing in the store and no row", async () => {
  const { world, keys, held } = await aWorld();
  const small = workflow({ name: "small", version: 1 }).handler(async ({ step }) => {
    await step.run("work", (_: StepContext) => text("s", 100_000));
  });
  await world.deploy({ ...build("b"), workflows: [both, small] });
  const run = await world.start(small.contract);
  await world.run(run);
  expect([keys(), await held(), world.statements("hold_values")]).toEqual([[], [], 0]);
});

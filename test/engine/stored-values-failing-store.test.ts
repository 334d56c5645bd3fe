/** Stores that do not work, have lost or changed a value, or are not there: runs are held up or blocked, and lose nothing. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { aWorld, build, refusedByTwo, report, sentOn, text } from "./storing.ts";

const database = testDatabase();

describe("a store that does not work", () => {
  const fates = ["fails before", "fails after", "is never answered"] as const;

  test.each(fates)("holds up a step whose result it does not take, and loses nothing: its put %s", async (fate) => {
    const { world, store, keys, held } = await aWorld(database);
    const run = await world.start(report, text("i"));
    store.fates.put.push(fate, fate);
    await world.pass("2 minutes");
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
    await world.pass("2 hours");
    await world.tick();
    expect((await held()).map(({ key }) => key)).toEqual(expect.arrayContaining(keys()));
  });

  test.each(fates)("holds up a start whose input it does not take, which is tried again: its put %s", async (fate) => {
    const { world, store } = await aWorld(database);
    store.fates.put.push(fate, fate);
    const run = await world.start(report, text("i"));
    expect((await world.get(run.runId)).input).toBe(text("i"));
  });

  test("that fails is asked once a sweep to delete, however much there is", async () => {
    const { world, store, keys } = await aWorld(database);
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
    const { world, store } = await aWorld(database);
    const run = await world.start(report, text("i"));
    await world.pass("1 minute");
    world.crash();
    store.fates.get.push(fate, fate, fate);
    expect(await sentOn(world, run)).toMatchObject({ status: "completed", result: text("i", 10) + text("r") });
  });

  test.each(fates)("is asked again for what it was to delete: its delete %s", async (fate) => {
    const { world, store, keys, held } = await aWorld(database);
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
    const { world, store } = await aWorld(database);
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
    const { world, store, keys } = await aWorld(database);
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
  const { world, store } = await aWorld(database);
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

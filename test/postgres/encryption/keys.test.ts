/** Keys of encryption: rotated, missing, wrong; and rows that somebody has changed. */
import { workflow } from "layover";
import { type EncryptionKeys, encrypted } from "layover/encryption";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { Client } from "../../../src/client/over-postgres/client.ts";
import type { Query } from "../../../src/core/ports.ts";
import { makeCalls } from "../../../src/postgres/calls.ts";
import { World } from "../../engine/world.ts";
import { testDatabase } from "../database.ts";
import { secrets, testKeys } from "./keys.ts";
import { approve, order, workflows } from "./story.ts";

const database = testDatabase();
const { k1, k2, sameness } = secrets;
/** What knows both keys, before and after it encrypts by the new one. */
const readsBoth: EncryptionKeys = { current: "k1", keys: { k1, k2 }, sameness };
const rotated: EncryptionKeys = { current: "k2", keys: { k1, k2 }, sameness };
const withoutOld: EncryptionKeys = { current: "k2", keys: { k2 }, sameness };
const strange: EncryptionKeys = { current: "k2", keys: { k1: sameness, k2 }, sameness };

const build = (id: string, keys: EncryptionKeys) => ({ workflows, keys, deployment: { name: "server", id } });
const input = { text: "a rose" };

/** An order that waits for its approval. */
async function aWaitingOrder(keys: EncryptionKeys) {
  const world = await World.begin(database, build("a", keys));
  const run = await world.start(order, input, { id: "o1" });
  await world.pass("2 minutes");
  return { world, run };
}

/** A client beside the world's own processes. */
const clientOf = ({ namespace }: World, query: Query) =>
  new Client({
    calls: makeCalls({ query, namespace, alarm: async () => {} }),
    dispatch: () => Promise.resolve(),
    wake: () => Promise.resolve(),
  });

/** Deploys twice, so that no deployment is alive that might read what these keys do not open. */
async function refusedByTwo(world: World, runId: string, keys: EncryptionKeys): Promise<void> {
  await world.deploy(build("b", keys));
  await approve(world, runId);
  await world.pass("2 minutes");
  await world.deploy(build("c", keys));
  await world.pass("2 minutes");
}

async function storedValue(runId: string, path: string): Promise<string> {
  const { rows } = await database.pool.query<{ readonly value: string }>(
    "select value from layover.record where run_id = $1 and path = $2",
    [runId, path],
  );
  return rows[0]?.value ?? "";
}

const setValue = (runId: string, path: string, value: string) =>
  database.pool.query("update layover.record set value = $3 where run_id = $1 and path = $2", [runId, path, value]);

describe("the same start again", () => {
  test.each([
    ["", {}],
    [", also of a sensitive one", { sensitive: ["input"] as const }],
  ])("is the same run, by another key too, whatever the order of its input's keys%s", async (_, more) => {
    const pair = workflow({ name: "pair", version: 1, input: z.looseObject({}), ...more });
    const world = await World.begin(database, {
      ...build("a", testKeys),
      workflows: [pair.handler(async () => {})],
    });
    const run = await world.start(pair, { a: 1, b: { c: 2, d: 3 } }, { id: "p1" });
    await world.deploy({ keys: rotated, deployment: { name: "server", id: "b" } });
    const again = await world.start(pair, { b: { d: 3, c: 2 }, a: 1 }, { id: "p1" });
    expect(again.runId).toBe(run.runId);
    await expect(world.start(pair, { a: 2 }, { id: "p1" })).rejects.toMatchObject({ code: "input_conflict" });
  });

  test("is the same run without encryption, too, where the input is sensitive", async () => {
    const pair = workflow({ name: "pair", version: 1, input: z.looseObject({}), sensitive: ["input"] });
    const world = await World.begin(database, { workflows: [pair.handler(async () => {})] });
    const run = await world.start(pair, { a: 1, b: 2 }, { id: "p1" });
    expect((await world.start(pair, { b: 2, a: 1 }, { id: "p1" })).runId).toBe(run.runId);
    await expect(world.start(pair, { a: 2 }, { id: "p1" })).rejects.toMatchObject({ code: "input_conflict" });
  });

  test("of another namespace has another MAC, as nobody is to see which values are equal", async () => {
    const worlds = [await aWaitingOrder(testKeys), await aWaitingOrder(testKeys)];
    const { rows } = await database.pool.query("select distinct sent from layover.run where id = any($1)", [
      worlds.map(({ run }) => run.runId),
    ]);
    expect(rows).toHaveLength(2);
  });
});

describe("a rotation", () => {
  test("goes by builds side by side, each of which reads what the other writes", async () => {
    const world = await World.begin(database, {
      ...build("old", readsBoth),
      beside: [build("old", readsBoth), build("new", rotated)],
      processes: 2,
      batch: 1,
    });
    const runs = await Promise.all([1, 2, 3, 4].map((number) => world.start(order, input, { id: `o${number}` })));
    await world.pass("2 minutes");
    for (const { runId } of runs) await approve(world, runId);
    for (const run of runs) await world.signal(run, order, "address", { text: "here" });
    await world.pass("5 minutes");
    for (const { runId } of runs) expect(await world.get(runId)).toMatchObject({ status: "completed" });
    const { rows } = await database.pool.query(
      `select distinct split_part(h.value, '.', 2) as key from layover.record h join layover.run r on r.id = h.run_id
        where r.namespace = $1 and h.kind = 'step' order by 1`,
      [world.namespace],
    );
    expect(rows).toEqual([{ key: "k1" }, { key: "k2" }]);
  });

  test("that forgets the old key blocks what is encrypted by it, until a deployment has it again", async () => {
    const { world, run } = await aWaitingOrder(readsBoth);
    await refusedByTwo(world, run.runId, withoutOld);
    const why = 'the run\'s input cannot be read: it is encrypted by the key "k1", which is not given here';
    expect(await world.get(run.runId)).toMatchObject({ status: "blocked", blocked: why });
    await world.deploy(build("d", rotated));
    await world.signal(run, order, "address", { text: "here" });
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
  });

  test("that begins too early loses no mail: it blocks the run that cannot read it", async () => {
    const { world, run } = await aWaitingOrder(readsBoth);
    const early = encrypted(database.query, { current: "k3", keys: { k3: sameness }, sameness });
    const client = clientOf(world, early);
    await client.signal(run.runId, "address", { text: "by an unknown key" }, { contract: order });
    await approve(world, run.runId);
    await world.pass("2 minutes");
    await world.deploy(build("b", readsBoth));
    await world.pass("2 minutes");
    const why = 'mail of the run cannot be read: it is encrypted by the key "k3", which is not given here';
    expect(await world.get(run.runId)).toMatchObject({ status: "blocked", blocked: why });
    await world.deploy(build("c", { ...readsBoth, keys: { k1, k2, k3: sameness } }));
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({
      status: "completed",
      result: [{}, {}, { text: "by an unknown key" }, {}, {}, {}],
    });
  });
});

describe("a value that cannot be opened blocks its run, and is shown as unreadable:", () => {
  test("by a secret that is another one", async () => {
    const { world, run } = await aWaitingOrder(readsBoth);
    await refusedByTwo(world, run.runId, strange);
    expect((await world.get(run.runId)).blocked).toContain("the secret is another one, or the row was changed");
  });

  test("whose byte was changed", async () => {
    const { world, run } = await aWaitingOrder(testKeys);
    const value = await storedValue(run.runId, "charge");
    const at = value.length - 10;
    const other = value[at] === "A" ? "B" : "A";
    await setValue(run.runId, "charge", value.slice(0, at) + other + value.slice(at + 1));
    await expectRefused(world, run.runId);
  });

  test("that was moved to another place of its run", async () => {
    const { world, run } = await aWaitingOrder(testKeys);
    await setValue(run.runId, "charge", await storedValue(run.runId, "approval/announce"));
    await expectRefused(world, run.runId);
  });

  test("that was moved from another run, where it is bound to its run", async () => {
    const { world, run } = await aWaitingOrder(testKeys);
    const other = await world.start(order, { text: "another" }, { id: "o2" });
    await world.pass("2 minutes");
    await database.pool.query(
      `update layover.run_state t set custom_status = o.custom_status from layover.run_state o
        where t.run_id = $1 and o.run_id = $2`,
      [run.runId, other.runId],
    );
    expect((await world.get(run.runId)).customStatus).toMatchObject({
      reason: expect.stringContaining("the row was changed"),
    });
  });

  async function expectRefused(world: World, runId: string) {
    await refusedByTwo(world, runId, testKeys);
    const why = "the record of charge cannot be read: it is not what the key";
    expect((await world.get(runId)).blocked).toContain(why);
    const { records } = await world.history({ runId });
    expect(JSON.stringify(records)).toContain("the row was changed");
  }
});

test("what SQL writes is plain, and is carried out", async () => {
  const world = await World.begin(database, build("a", testKeys));
  const call = { namespace: world.namespace, workflow: "gift", version: 1, input: { text: "by psql" } };
  const { rows } = await database.pool.query("select layover.start_run($1) as answer", [JSON.stringify(call)]);
  await world.tick({ isFirst: true });
  await world.pass("1 minute");
  expect(await world.get(rows[0].answer.runId)).toMatchObject({ status: "completed", input: { text: "by psql" } });
});

test("a deployment without encryption says what it lacks", async () => {
  const { world, run } = await aWaitingOrder(testKeys);
  const client = clientOf(world, database.query);
  expect((await client.get(run.runId)).input).toMatchObject({
    reason: "the stored value cannot be read: it is encrypted",
  });
});

test("a build without encryption takes no mail that another one has encrypted", async () => {
  const world = await World.begin(database, { workflows, deployment: { name: "server", id: "a" } });
  const run = await world.start(order, input);
  await world.pass("2 minutes");
  const client = clientOf(world, encrypted(database.query, testKeys));
  await client.signal(run.runId, "address", { text: "encrypted" }, { contract: order });
  await approve(world, run.runId);
  await world.pass("2 minutes");
  const why =
    "mail of the run cannot be read: it is encrypted or in a store, and this deployment has no key or store for it";
  expect(await world.get(run.runId)).toMatchObject({ status: "blocked", blocked: why });
  await world.deploy(build("b", testKeys));
  await world.pass("10 minutes");
  expect(await client.get(run.runId)).toMatchObject({ status: "completed", result: { 2: { text: "encrypted" } } });
});

test.each([
  ["a short secret", { ...testKeys, keys: { k1: "short" } }],
  ["a key that is missing", { ...testKeys, keys: { k1: undefined } }],
  ["no secret for sameness", { ...testKeys, sameness: undefined }],
  ["an id that is none", { ...testKeys, current: "a.b", keys: { "a.b": k1 } }],
])("%s is refused at once", (_, keys) => {
  expect(() => encrypted(database.query, keys)).toThrow(expect.objectContaining({ code: "invalid_secret" }));
});

import { readdirSync, readFileSync } from "node:fs";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { checkSchema, migrate } from "../../src/postgres/migrate.ts";
import { readSchema } from "../../src/postgres/sql-files.ts";
import { aSchema } from "./a-schema.ts";
import { describeEachPostgres, type TestDatabase, testDatabase } from "./database.ts";

function callsOn(database: TestDatabase, namespace: string): Calls {
  return makeCalls({ query: database.query, namespace, alarm: async () => {} });
}

describeEachPostgres("API keys in the database", (database) => {
  const aKey = (name: string) => ({ keyId: v7(), name, scopes: ["start", "read"] });
  const revoked = { sqlState: "LO005", isRolledBack: true };

  test("are written down once, and listed newest first", async () => {
    const calls = callsOn(database, "listing");
    const [first, second] = [aKey("first"), { ...aKey("second"), expiresAt: (await calls.now()) + 60_000 }];
    expect(await calls.createKey(first)).toMatchObject({ outcome: "created" });
    expect(await calls.createKey(first)).toMatchObject({ outcome: "created" });
    await calls.createKey(second);
    const { keys } = await calls.listKeys();
    expect(keys).toEqual([
      { ...second, createdAt: expect.any(Number), revokedAt: null },
      { ...first, createdAt: expect.any(Number), expiresAt: null, revokedAt: null },
    ]);
    expect(await callsOn(database, "foreign").listKeys()).toMatchObject({ keys: [] });
  });

  test("have a name to themselves while they count", async () => {
    const calls = callsOn(database, "naming");
    await calls.createKey({ ...aKey("ci"), expiresAt: (await calls.now()) - 1 });
    expect(await calls.createKey(aKey("ci"))).toMatchObject({ outcome: "created" });
    expect(await calls.createKey(aKey("ci"))).toMatchObject({ outcome: "taken" });
    expect(await callsOn(database, "other").createKey(aKey("ci"))).toMatchObject({ outcome: "created" });
    await calls.revokeKey({ name: "ci" });
    expect(await calls.createKey(aKey("ci"))).toMatchObject({ outcome: "created" });
    expect((await callsOn(database, "other").listKeys()).keys).toMatchObject([{ name: "ci", revokedAt: null }]);
  });

  test("are revoked by name or id, and stay as they were revoked", async () => {
    const calls = callsOn(database, "revoking");
    const [one, other] = [aKey("one"), aKey("other")];
    for (const key of [one, other]) await calls.createKey(key);
    expect(await calls.revokeKey({ name: "one" })).toMatchObject({
      outcome: "revoked",
      keys: [{ keyId: one.keyId, name: "one" }],
    });
    expect(await calls.revokeKey({ name: "one" })).toMatchObject({ outcome: "unknown", keys: [] });
    const { revokedAt } = (await calls.listKeys()).keys.find(({ keyId }) => keyId === one.keyId) ?? {};
    expect(await calls.revokeKey({ keyId: one.keyId })).toMatchObject({ outcome: "revoked" });
    expect((await calls.listKeys()).keys.find(({ keyId }) => keyId === one.keyId)?.revokedAt).toBe(revokedAt);
    expect(await calls.by(other.keyId).getRun({ runId: v7() })).toEqual({ outcome: "unknown" });
  });

  test("are revoked in the namespace that they were made in, which whoever asks in another one is told", async () => {
    const calls = callsOn(database, "owning");
    const key = aKey("mine");
    await calls.createKey(key);
    const { keyId } = key;
    const other = callsOn(database, "asking");
    expect(await other.revokeKey({ keyId })).toMatchObject({ outcome: "elsewhere", madeIn: "owning", keys: [] });
    expect((await other.listKeys()).keys).toEqual([]);
    await calls.by(keyId).checkKey();
  });

  test("that were made elsewhere count, until they are revoked by their id", async () => {
    const calls = callsOn(database, "elsewhere");
    const keyId = v7();
    await calls.by(keyId).checkKey();
    await callsOn(database, "foreign").revokeKey({ keyId });
    await calls.by(keyId).checkKey();
    expect(await calls.revokeKey({ keyId })).toMatchObject({ outcome: "revoked", keys: [{ keyId, name: null }] });
    await expect(calls.by(keyId).checkKey()).rejects.toMatchObject(revoked);
    expect((await calls.listKeys()).keys).toMatchObject([{ keyId, name: null, scopes: null, createdAt: null }]);
  });

  test("once revoked start nothing, send nothing, answer nothing and see nothing", async () => {
    const calls = callsOn(database, "refusing");
    const runId = v7();
    const aRun = { workflow: "order", version: 1, encodedInput: "0null" };
    const aSignal = { runId, name: "go", encodedPayload: "0null" };
    const aCallback = { runId, epoch: 0, path: "approval", occurrence: 1 };
    const keyId = v7();
    const theirs = calls.by(keyId);
    await theirs.startRun({ ...aRun, runId });
    await theirs.sendSignal({ ...aSignal, signalId: v7() });
    await theirs.answerCallback({ ...aCallback, outcome: "resolved", value: "0null" });
    await calls.revokeKey({ keyId });

    const refused = [
      () => theirs.startRun({ ...aRun, runId: v7() }),
      () => theirs.sendSignal({ ...aSignal, signalId: v7() }),
      () => theirs.answerCallback({ ...aCallback, path: "refund", outcome: "resolved", value: "0null" }),
      () => theirs.readCallback(aCallback),
      () => theirs.getRun({ runId }),
      () => theirs.getHistory({ runId }),
      () => theirs.listRuns({ limit: 1, walk: 100 }),
    ];
    for (const call of refused) await expect(call()).rejects.toMatchObject(revoked);
    const rows = await database.query(
      `select (select count(*)::integer from layover.run where namespace = 'refusing') as runs,
        (select count(*)::integer from layover.signal where run_id = $1::uuid) as signals,
        (select count(*)::integer from layover.callback where run_id = $1::uuid) as answers`,
      [runId],
    );
    expect(rows).toEqual([{ runs: 1, signals: 1, answers: 1 }]);
    expect(await calls.listRuns({ limit: 2, walk: 100 })).toMatchObject({ runs: [{ runId }] });
  });
});

describe("a database with runs from before there were keys", () => {
  const database = testDatabase({ isEmpty: true });

  test("keeps them when it is migrated, and has keys", async () => {
    const folder = new URL("../../src/postgres/", import.meta.url);
    const read = (path: string) => readFileSync(new URL(path, folder), "utf8");
    // Those that take or keep a row of a table which is not there yet cannot be made.
    const laterRow = /\w +layover\.(delivery|kept_signal|schedule)(\[\])?([,;)]|\nlanguage)/;
    const functions = Object.fromEntries(
      readSchema().functions.flatMap(({ name, sql }) => (laterRow.test(sql) ? [] : [[name, sql]])),
    );
    const before = aSchema({ migrations: { tables: read("migrations/0001_tables.sql") }, functions, version: "0.0.1" });
    await migrate(database.pool, before);
    const calls = callsOn(database, "shop");
    const runId = v7();
    await database.query(
      `insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
        values ($1, 'shop', 'order', 1, '0null', true, now())`,
      [runId],
    );
    await database.query(
      `insert into layover.run_state (run_id, namespace, status, last_record_at, ready_at, blocked)
        values ($1, 'shop', 'parked', now(), now(), 'another code')`,
      [runId],
    );

    const later = readdirSync(new URL("migrations/", folder))
      .map((file) => file.replace(".sql", ""))
      .toSorted()
      .slice(1);
    expect((await migrate(database.pool)).applied).toEqual(later);
    expect(await checkSchema(database.query)).toMatchObject({ isUsable: true });
    expect(await calls.getRun({ runId })).toMatchObject({ status: "blocked" });
    expect(await calls.diagnose()).toMatchObject({ troubles: [{ keptBy: "blocked", example: runId }] });
    const keyId = v7();
    await calls.revokeKey({ keyId });
    await expect(calls.by(keyId).getRun({ runId })).rejects.toMatchObject({ sqlState: "LO005" });
  });
});

/** Acts on many runs that may be over, and a signal to many: retry, restart, delete, signal. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { encode } from "../../src/core/codec/codec.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { aHastyHost, carryOut } from "./a-client.ts";
import { type FacedClient, faces } from "./faces.ts";

const trip = workflow({ name: "trip", version: 1, signals: { seat: z.object({ row: z.number() }) } });

describe.each(faces)("acts on many runs that may be over, $face", ({ open }) => {
  const database = testDatabase({ perTest: true });

  async function trips({ client, calls }: FacedClient, ends: readonly ("failed" | "completed" | "live")[]) {
    const runIds: string[] = [];
    for (const end of ends) {
      const { runId } = await client.start(trip, undefined, { tags: { customer: "42" } });
      runIds.push(runId);
      const error = encode({ name: "Error", message: "no room" });
      const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
      const records = [
        { kind: "step", path: "hotel", occurrence: 1, value: error, isFailure: true, at: Date.now() } as const,
      ];
      const run = { runId, workflow: "trip" };
      if (end === "failed") await carryOut(calls, run, { records, next: "failed", value: error, failure });
      else if (end === "completed") await carryOut(calls, run, { completed: "there" });
    }
    return runIds;
  }

  const statuses = async ({ client }: FacedClient) =>
    (await client.list()).runs.map(({ status }) => status).toReversed();

  it("retry those that failed and no others, each once, and tell a second call nothing else", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    await trips(test, ["failed", "completed", "live", "failed"]);
    const before = test.dispatches.length;
    const receipt = await test.client.retryRuns({ workflow: "trip" }, { by: "ada", reason: "mended" });
    expect(receipt).toMatchObject({ runs: 2, outcomes: { retried: 2 }, refused: [] });
    expect(test.dispatches.slice(before).flatMap(({ turns }) => turns)).toHaveLength(2);
    expect(await statuses(test)).toEqual(["queued", "completed", "queued", "queued"]);
    const again = await test.client.retryRuns({ workflow: "trip" }, { callId: receipt.callId });
    expect(again).toMatchObject({ runs: 0, outcomes: {} });
  });

  it("tell why a run cannot be retried, by the code that it alone would be refused with", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    const [one] = await trips(test, ["failed", "failed"]);
    await database.pool.query(
      `update layover.run_state set failure = '{"at": 1, "repeats": [{"path": "x", "occurrence": 1}]}' where run_id = $1`,
      [one],
    );
    expect(await test.client.retryRuns({ tags: { customer: "42" } })).toMatchObject({
      outcomes: { retried: 1 },
      refused: [{ code: "would_repeat", runs: 1, runIds: [one] }],
    });
  });

  it("restart those of a status, from a place, and refuse the ones that have not come there", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    const [one, two] = await trips(test, ["failed", "completed", "live"]);
    const { client } = test;
    expect(await client.restartRuns({ workflow: "trip", status: "completed" }, { from: "hotel" })).toMatchObject({
      outcomes: {},
      refused: [{ code: "unknown_step", runIds: [two] }],
    });
    const dry = await client.restartRuns({ workflow: "trip", status: "failed" }, { from: "hotel", dryRun: true });
    expect(dry).toMatchObject({ runs: 1, statuses: { failed: 1 }, runIds: [one] });
    expect(await client.restartRuns({ workflow: "trip", status: "failed" }, { from: "hotel" })).toMatchObject({
      outcomes: { restarted: 1 },
    });
    expect(await statuses(test)).toEqual(["queued", "completed", "queued"]);
  });

  it("delete those that are over, and refuse the others without a trace", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    const [, live] = await trips(test, ["failed", "live", "completed"]);
    const receipt = await test.client.deleteRuns({ tags: { customer: "42" } });
    expect(receipt).toMatchObject({
      runs: 3,
      outcomes: { deleted: 2 },
      refused: [{ code: "not_applicable", runs: 1, runIds: [live] }],
    });
    expect(await statuses(test)).toEqual(["queued"]);
    expect((await test.client.history(live ?? "")).operations).toEqual([]);
    expect(await test.client.deleteRuns({ endedBefore: Date.now() + 86_400_000 })).toMatchObject({ runs: 0 });
  });

  it("delete with a cancel before it: what has not begun at once, the others by the same call once they are over", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    const { client, calls } = test;
    const { runId: later } = await client.start(trip, undefined, { delay: "1 day", tags: { customer: "42" } });
    const [atWork = ""] = await trips(test, ["live"]);
    await carryOut(calls, { runId: atWork, workflow: "trip" }, { waitsFor: [] });
    const filter = { tags: { customer: "42" } };
    const first = await client.deleteRuns(filter, { cancels: true });
    expect(first).toMatchObject({ runs: 2, outcomes: { deleted: 1, cancelling: 1 }, refused: [] });
    await expect(client.get(later)).rejects.toMatchObject({ code: "unknown_run" });
    const { callId } = first;
    expect(await client.deleteRuns(filter, { cancels: true, callId })).toMatchObject({ outcomes: { cancelling: 1 } });
    const cancelled = encode({ name: "CancelledError", message: "cancelled" });
    await carryOut(calls, { runId: atWork, workflow: "trip", turn: 2 }, { next: "cancelled", value: cancelled });
    expect(await client.deleteRuns(filter, { callId })).toMatchObject({ outcomes: { deleted: 1 } });
    expect((await client.list()).runs).toEqual([]);
  });

  it("signal those that are not over, each once, with what the contract makes of the payload", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    const { client } = test;
    const [one, two] = await trips(test, ["live", "live", "completed"]);
    const callId = v7({ msecs: Date.now() + 60_000 });
    const send = (payload: unknown) =>
      client.signalRuns(trip, { tags: { customer: "42" } }, "seat", payload as never, { callId });
    await expect(send({ row: "x" })).rejects.toMatchObject({ code: "invalid_payload" });
    expect(await send({ row: 7 })).toMatchObject({ runs: 2, outcomes: { sent: 2 } });
    expect(await send({ row: 7 })).toMatchObject({ runs: 2, outcomes: { sent: 2 } });
    for (const runId of [one, two]) expect(await client.get(runId ?? "")).toMatchObject({ untaken: { seat: 1 } });
  });

  it("tell of runs whose mail is full or closed, and send the signal to the others", async () => {
    const test = open(database.query, [trip], { host: aHastyHost() });
    const [one, two] = await trips(test, ["live", "live", "live"]);
    await database.pool.query(
      `insert into layover.signal (run_id, id, name, payload, is_parsed, received_at)
         select $1, gen_random_uuid(), 'seat', '0null', true, now() from generate_series(1, 10000)`,
      [one],
    );
    await database.pool.query("update layover.run_state set closed = '{seat}' where run_id = $1", [two]);
    expect(await test.client.signalRuns(trip, {}, "seat", { row: 7 })).toMatchObject({
      outcomes: { sent: 1 },
      refused: expect.arrayContaining([
        { code: "too_many_signals", runs: 1, runIds: [one] },
        { code: "signal_closed", runs: 1, runIds: [two] },
      ]),
    });
  });

  it("refuse statuses that do not fit the act, and send nothing", async () => {
    const { client, statements } = open(database.query, [trip]);
    const before = statements.length;
    const refused = { code: "invalid_request", details: { field: "status" } };
    await expect(client.retryRuns({ status: "cancelled" })).rejects.toMatchObject(refused);
    await expect(client.deleteRuns({ status: "queued" })).rejects.toMatchObject(refused);
    await expect(client.restartRuns({ workflow: "trip" } as never)).rejects.toMatchObject(refused);
    await expect(client.restartRuns({ status: "queued" as never })).rejects.toMatchObject(refused);
    await expect(client.deleteRuns({})).rejects.toMatchObject({ details: { field: "filter" } });
    expect(statements.length).toBe(before);
  });
});

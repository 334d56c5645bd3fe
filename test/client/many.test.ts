/** Acts on many runs by the client: a page at a time, at a pace, and on from where it was stopped. */
import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import type { ManyReceipt } from "../../src/client/many.ts";
import type { ClientVerbs } from "../../src/client/verbs.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { aHastyHost, carryOut } from "./a-client.ts";
import { faces } from "./faces.ts";

const nap = workflow({ name: "nap", version: 1 });

describe.each(faces)("acts on many runs, $face", ({ open }) => {
  const database = testDatabase({ perTest: true });

  async function started(client: ClientVerbs, count: number, tags = {}): Promise<readonly string[]> {
    const runIds: string[] = [];
    for (let n = 0; n < count; n += 1) runIds.push((await client.start(nap, undefined, { tags })).runId);
    return runIds;
  }

  const statuses = async (client: ClientVerbs) => (await client.list()).runs.map(({ status }) => status).toReversed();

  it("pause, resume, cancel and terminate all that fit, and tell how many had which outcome", async () => {
    const { client, calls, dispatches } = open(database.query, [nap]);
    const [one = "", two = ""] = await started(client, 2, { region: "eu" });
    await started(client, 1);
    const filter = { workflow: "nap", tags: { region: "eu" } };
    const nothing = { refused: [], statuses: {}, runIds: [] };
    expect(await client.pauseRuns(filter, { by: "ada", reason: "their API is down" })).toEqual({
      callId: expect.any(String),
      runs: 2,
      outcomes: { paused: 2 },
      ...nothing,
    });
    expect(await statuses(client)).toEqual(["paused", "paused", "queued"]);
    expect((await client.history(one)).operations).toMatchObject([
      { verb: "pause", by: "ada", reason: "their API is down", verdict: "paused" },
    ]);
    const before = dispatches.length;
    expect(await client.resumeRuns({ workflow: "nap", version: 1 })).toMatchObject({ outcomes: { resumed: 2 } });
    expect(dispatches.slice(before).flatMap(({ turns }) => turns)).toHaveLength(2);
    await carryOut(calls, { runId: one, workflow: "nap" }, { waitsFor: [] });
    expect(await client.cancelRuns({ tags: { region: "eu" } })).toMatchObject({
      outcomes: { cancelling: 1, cancelled: 1 },
    });
    expect(await client.get(two)).toMatchObject({ status: "cancelled" });
    expect(await client.pauseRuns({ workflow: "nap" })).toMatchObject({
      runs: 2,
      outcomes: { paused: 1 },
      refused: [{ code: "not_applicable", runs: 1, runIds: [one] }],
    });
    expect(await client.terminateRuns({ createdBefore: Date.now() + 86_400_000 })).toMatchObject({
      outcomes: { terminated: 2 },
    });
    expect(await client.terminateRuns({ workflow: "nap" })).toMatchObject({ runs: 0, outcomes: {} });
  });

  it("keep their pace, and tell how far they are", async () => {
    const host = aHastyHost();
    const { client } = open(database.query, [nap], { host });
    await started(client, 5);
    const seen: number[] = [];
    const pauses = host.pauses.length;
    const onProgress = ({ runs }: ManyReceipt) => seen.push(runs);
    await client.pauseRuns({ workflow: "nap" }, { perSecond: 2, onProgress });
    expect(seen).toEqual([2, 4, 5]);
    const waited = host.pauses.slice(pauses).filter((ms) => ms > 500);
    expect(waited).toEqual([1_000, 1_000]);
  });

  it("stop after the page under way when they are told to, and go on by their callId to the same runs", async () => {
    const { client } = open(database.query, [nap], { host: aHastyHost() });
    await started(client, 3);
    const stop = new AbortController();
    let callId: string | undefined;
    const onProgress = (receipt: ManyReceipt) => {
      callId = receipt.callId;
      stop.abort();
    };
    const options = { perSecond: 1, onProgress, abortSignal: stop.signal };
    await expect(client.terminateRuns({ workflow: "nap" }, options)).rejects.toMatchObject({ name: "AbortError" });
    expect(await statuses(client)).toEqual(["queued", "queued", "cancelled"]);
    const [newer] = await started(client, 1);
    const set = "created_at = created_at + interval '1 second'";
    await database.pool.query(`update layover.run set ${set} where id = $1`, [newer]);
    expect(await client.terminateRuns({ workflow: "nap" }, { callId })).toMatchObject({ callId, runs: 2 });
    expect(await statuses(client)).toEqual(["cancelled", "cancelled", "cancelled", "queued"]);
  });

  it("do nothing in a dry run, and tell statuses, the first ten ids, and a callId by which the same runs are meant", async () => {
    const { client } = open(database.query, [nap], { host: aHastyHost() });
    const runIds = await started(client, 12);
    await client.pause(runIds[0] ?? "");
    const told = await client.cancelRuns({ workflow: "nap" }, { dryRun: true, perSecond: 5 });
    expect(told).toMatchObject({ runs: 12, statuses: { queued: 11, paused: 1 }, outcomes: {} });
    expect(told.runIds).toEqual(runIds.toReversed().slice(0, 10));
    expect(new Set(await statuses(client))).toEqual(new Set(["paused", "queued"]));
    expect(await client.cancelRuns({ workflow: "nap" }, { callId: told.callId })).toMatchObject({
      callId: told.callId,
      runs: 12,
    });
  });

  it.each([
    [{}, {}, "filter"],
    [{ tags: {} }, {}, "filter"],
    [{ status: "completed" }, {}, "status"],
    [{ workflow: "nap", endedBefore: 1 }, {}, "endedBefore"],
    [{ version: 1 }, {}, "version"],
    [{ workflow: "nap" }, { callId: randomUUID() }, "callId"],
    [{ workflow: "nap" }, { perSecond: 0 }, "perSecond"],
    [{ workflow: "nap" }, { perSecond: 10_001 }, "perSecond"],
    [{ workflow: "nap" }, { reason: "\u0000" }, "reason"],
  ] as const)("refuse %j with %j, and send nothing", async (filter, options, field) => {
    const { client, statements } = open(database.query, [nap]);
    const before = statements.length;
    for (const act of [client.pauseRuns, client.resumeRuns, client.cancelRuns, client.terminateRuns]) {
      await expect(act.call(client, filter, options)).rejects.toMatchObject({
        code: "invalid_request",
        details: { field },
      });
    }
    expect(statements.length).toBe(before);
  });

  it("take a callId that the caller has made", async () => {
    const { client } = open(database.query, [nap]);
    await started(client, 1);
    const callId = v7({ msecs: Date.now() + 60_000 });
    expect(await client.pauseRuns({ workflow: "nap" }, { callId })).toMatchObject({ callId, runs: 1 });
    expect(await client.resumeRuns({ workflow: "nap" })).toMatchObject({ runs: 1 });
    expect(await client.pauseRuns({ workflow: "nap" }, { callId })).toMatchObject({ outcomes: { paused: 1 } });
    expect(await statuses(client)).toEqual(["queued"]);
  });
});

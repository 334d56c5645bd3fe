/** Retry, restart and fork as a client asks for them. What becomes of the run: test/engine/{retries,restarts}.test.ts. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { encode } from "../../src/core/codec/codec.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Calls } from "../../src/postgres/calls.ts";
import type { FinishRun, NewRecord } from "../../src/postgres/wire.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOut } from "./a-client.ts";
import { faces } from "./faces.ts";

const trip = workflow({
  name: "trip",
  version: 1,
  input: z.object({ to: z.string() }),
  signals: { seat: z.object({ row: z.number() }) },
});

function aRecord(path: string, more: Partial<NewRecord> = {}): NewRecord {
  return { kind: "step", path, occurrence: 1, value: encode(path), at: Date.now(), ...more };
}

const lost = encode({ name: "LayoverError", code: "result_lost", message: "too large" });

describe.each(faces)("a run that is repaired, $face", ({ open }) => {
  const database = testDatabase();

  /** Starts a run that fails in its second step. */
  async function aFailedTrip(failure: FinishRun["failure"] = { at: 2, timeouts: [], lost: [], repeats: [] }) {
    const { client, calls, dispatches } = open(database.query, [trip]);
    const run = await client.start(trip, { to: "Bonn" });
    await fail(calls, run.runId, failure);
    dispatches.length = 0;
    return { client, calls, dispatches, run };
  }

  it("is retried, and its turn is dispatched", async () => {
    const { run, dispatches } = await aFailedTrip();
    const { runId } = run;
    const callId = randomUUID();
    const receipt = { runId, outcome: "retried", epoch: 1, kept: 1, dropped: 1 };
    expect(await run.retry({ by: "ada", reason: "mended", callId })).toEqual(receipt);
    expect(dispatches).toMatchObject([{ turns: [{ runId }] }]);
    expect(await run.retry({ callId })).toEqual(receipt);
    expect(await run.get()).toMatchObject({ status: "queued", epoch: 1, error: undefined, endedAt: undefined });
    const { operations, epochs, records } = await run.history();
    expect(operations).toMatchObject([{ callId, verb: "retry", by: "ada", reason: "mended", verdict: "retried" }]);
    expect(epochs).toEqual([{ epoch: 1, why: "retried", kept: 1, beganAt: expect.any(Date) }]);
    expect(records).toMatchObject([{ position: 1, path: "flight" }]);
  });

  it("is retried with a signal, which the contract checks", async () => {
    const { run } = await aFailedTrip();
    const seat = (row: unknown) => ({ signal: { name: "seat", payload: { row } }, contract: trip }) as never;
    await expect(run.retry(seat("x"))).rejects.toMatchObject({ code: "invalid_payload" });
    expect(await run.retry(seat(7))).toMatchObject({ outcome: "retried" });
    expect(await run.get()).toMatchObject({ untaken: { seat: 1 } });
  });

  it("shows the history of an earlier epoch", async () => {
    const { run } = await aFailedTrip();
    await run.retry();
    const { epoch, records } = await run.history({ epoch: 0 });
    expect({ epoch, records }).toMatchObject({ epoch: 0, records: [{ path: "flight" }, { path: "hotel" }] });
    await expect(run.history({ epoch: -1 })).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("is not retried where that would repeat something, and the places are named", async () => {
    const repeats = [{ path: "apology", occurrence: 2 }];
    const { run } = await aFailedTrip({ at: 2, timeouts: [], lost: [], repeats });
    await expect(run.retry()).rejects.toMatchObject({
      code: "would_repeat",
      message: "what succeeded or was asked after the failure cannot be kept: apology#2",
      details: { runId: run.runId, places: "apology#2" },
    });
    expect(await run.get()).toMatchObject({ status: "failed", epoch: 0 });
  });

  it("is retried with the results that a person gives for steps whose own are lost", async () => {
    const { run } = await aFailedTrip({ at: 2, timeouts: [], lost: [2], repeats: [] });
    await expect(run.retry()).rejects.toMatchObject({ code: "result_needed", details: { places: "hotel" } });
    await expect(run.retry({ results: { hotel: () => 1 } })).rejects.toMatchObject({ code: "unstorable_value" });
    expect(await run.retry({ results: { hotel: { room: 7, at: new Date(0) } } })).toMatchObject({
      kept: 2,
      dropped: 0,
    });
    const { records } = await run.history();
    expect(records).toMatchObject([{}, { path: "hotel", isFailure: false, value: { room: 7, at: new Date(0) } }]);
  });

  it("shows which results people gave, and who, also after further retries, a fork, and a restart", async () => {
    const { run, client, calls } = await aFailedTrip();
    const { runId } = run;
    const shown = async (id: string, epoch?: number) =>
      (await client.history(id, { epoch })).records.map(({ path, isGiven, givenBy }) => [path, isGiven, givenBy]);
    const failAgain = async (failure: FinishRun["failure"], ...records: readonly NewRecord[]) =>
      fail(calls, runId, failure, { turn: (await run.get()).turn, records });
    const boatFails = aRecord("boat", { isFailure: true, value: lost });
    const third = { at: 3, timeouts: [], lost: [], repeats: [] };
    const [flight, hotel] = [
      ["flight", false, undefined],
      ["hotel", true, "ada"],
    ];

    await run.retry({ by: "ada", results: { hotel: "by hand" } });
    expect(await shown(runId)).toEqual([flight, hotel]);
    expect(await shown(runId, 0)).toEqual([flight, ["hotel", false, undefined]]);
    await failAgain(third, boatFails);
    await run.retry({ by: "bob" });
    expect(await shown(runId)).toEqual([flight, hotel]);
    await failAgain(third, boatFails);
    await run.retry({ results: { boat: 1 } });
    expect(await shown(runId)).toEqual([flight, hotel, ["boat", true, undefined]]);

    await failAgain(undefined);
    const forked = await run.fork({ from: "boat" });
    expect(await shown(forked.runId)).toEqual([flight, hotel]);
    await run.restart({ from: "hotel" });
    expect(await shown(runId)).toEqual([flight]);
    await failAgain(undefined, aRecord("hotel"));
    expect(await shown(runId)).toEqual([flight, ["hotel", false, undefined]]);
  });

  it("is restarted from a step, after a look at what that drops", async () => {
    const { run } = await aFailedTrip();
    const { runId } = run;
    expect(await run.planRestart({ from: "hotel" })).toEqual({
      runId,
      kept: 1,
      dropped: 1,
      records: [{ position: 2, kind: "step", path: "hotel", occurrence: 1, isFailure: true }],
    });
    expect(await run.get()).toMatchObject({ status: "failed", epoch: 0 });
    expect(await run.restart({ from: "hotel" })).toEqual({
      runId,
      outcome: "restarted",
      epoch: 1,
      kept: 1,
      dropped: 1,
    });
    expect(await run.get()).toMatchObject({ status: "queued", epoch: 1 });
  });

  it("is restarted from its start with another input, which its contract's schema parses", async () => {
    const { run } = await aFailedTrip();
    await run.restart({ input: { to: "Turin" }, contract: trip });
    expect(await run.get()).toMatchObject({ status: "queued", input: { to: "Turin" } });
    await expect(run.restart({ from: "hotel", input: { to: "Rome" }, contract: trip })).rejects.toMatchObject({
      code: "invalid_request",
      message: "another input is given for a run that keeps a part of its history",
    });
    // @ts-expect-error: the schema wants a text
    await expect(run.restart({ input: { to: 1 }, contract: trip })).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("says why it is not repaired", async () => {
    const { client, calls } = open(database.query, [trip]);
    const run = await client.start(trip, { to: "Bonn" });
    const { runId } = run;
    for (const [verb, done] of [
      ["retry", "retried"],
      ["restart", "restarted"],
      ["fork", "forked"],
    ] as const)
      await expect(run[verb]()).rejects.toMatchObject({
        code: "not_applicable",
        message: `the run ${runId} is queued, so it cannot be ${done}`,
        details: { runStatus: "queued" },
      });
    await fail(calls, runId, undefined);
    await expect(run.restart({ from: "boat#3" })).rejects.toMatchObject({
      code: "unknown_step",
      message: `the run ${runId} has not come to boat#3`,
    });
    await expect(run.retry({ epoch: 4 })).rejects.toMatchObject({ code: "epoch_changed", details: { epoch: 0 } });
    await expect(run.retry({ epoch: 1.5 })).rejects.toMatchObject({ code: "invalid_request" });
    await expect(client.retry(randomUUID())).rejects.toMatchObject({ code: "unknown_run" });
    await expect(client.fork(randomUUID())).rejects.toMatchObject({ code: "unknown_run" });
  });

  it("is forked once, however often the call comes, and the id of another run is refused", async () => {
    const { run, client, dispatches } = await aFailedTrip();
    const newRunId = (await client.start(trip, { to: "Rome" }, { id: "taken" })).runId;
    dispatches.length = 0;
    const again = await run.fork({ from: "hotel", id: "again" });
    expect(dispatches).toMatchObject([{ turns: [{ runId: again.runId, turn: 1 }] }]);
    expect(await again.get()).toMatchObject({
      id: "again",
      status: "queued",
      epoch: 1,
      input: { to: "Bonn" },
      records: 1,
    });
    expect((await run.fork({ from: "hotel", id: "again", newRunId: again.runId })).runId).toBe(again.runId);
    await expect(run.fork({ id: "taken" })).rejects.toMatchObject({ code: "input_conflict" });
    await expect(run.fork({ newRunId })).rejects.toMatchObject({ code: "input_conflict" });
    expect(await run.get()).toMatchObject({ status: "failed", epoch: 0 });
  });
});

/** Plays the engine for the one turn in which the run fails. */
async function fail(
  calls: Calls,
  runId: string,
  failure: FinishRun["failure"],
  { turn = 1, records = [aRecord("flight"), aRecord("hotel", { isFailure: true, value: lost })] }: FailingTurn = {},
): Promise<void> {
  await carryOut(
    calls,
    { runId, workflow: "trip", turn },
    {
      records,
      next: "failed",
      value: encode({ name: "Error", message: "no room" }),
      ...(failure !== undefined && { failure }),
    },
  );
}

interface FailingTurn {
  readonly turn?: number;
  readonly records?: readonly NewRecord[];
}

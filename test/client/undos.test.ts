/** A run that is undone, as people see it and what they may do to it. How it is undone: test/engine/undos*.test.ts. */
import { describe, expect, it } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Calls } from "../../src/postgres/calls.ts";
import type { FinishRun, NewRecord } from "../../src/postgres/wire.ts";
import { testDatabase } from "../postgres/database.ts";
import { faces } from "./faces.ts";

const trip = workflow({ name: "trip", version: 1 });
const why = { name: "Error", message: "no room" };

function aRecord(path: string, more: Partial<NewRecord> = {}): NewRecord {
  return { kind: "step", path, occurrence: 1, value: encode(path), at: Date.now(), ...more };
}

const owed = ["hotel", "flight"].map((path) => ({ path, occurrence: 1 }));
const ending = aRecord("", { kind: "ending", value: JSON.stringify({ next: "failed", error: encode(why), owed }) });

describe.each(faces)("a run that is undone, $face", ({ open }) => {
  const database = testDatabase();

  /** Starts a run, and plays the engine for one turn of it. */
  async function aTrip(finish: Partial<FinishRun>) {
    const { client, calls } = open(database.query, [trip]);
    const { runId } = await client.start(trip);
    const run = { client, runId, play: (turn: number, more: Partial<FinishRun>) => play(calls, runId, turn, more) };
    await run.play(1, finish);
    return run;
  }

  const undone = () =>
    aTrip({ records: [aRecord("flight"), aRecord("hotel"), ending], next: "ready", ending: owed.length });

  it("is compensating, and tells how many undos it owes, and how many have ended", async () => {
    const { client, runId, play } = await undone();
    const undos = { owed: 2, done: 0, failed: undefined };
    expect(await client.get(runId)).toMatchObject({ status: "compensating", undos });
    await play(2, { records: [aRecord("[undo]/hotel")], next: "ready" });
    const { runs } = await client.list({ status: "compensating" });
    expect(runs.find((run) => run.runId === runId)).toMatchObject({ undos: { ...undos, done: 1 } });
    expect((await client.list({ status: "cancelling" })).runs).toEqual([]);
  });

  it("is compensating before it is known what it owes", async () => {
    const { client, runId } = await aTrip({ next: "ready", closing: true });
    expect(await client.get(runId)).toMatchObject({ status: "compensating", undos: undefined });
    for (const verb of ["pause", "cancel"] as const) {
      await expect(client[verb](runId)).rejects.toMatchObject({
        code: "not_applicable",
        message: expect.stringContaining("is compensating"),
      });
    }
  });

  it("has no undos if it ended without owing any", async () => {
    const { client, runId } = await aTrip({ next: "failed", value: encode(why) });
    expect(await client.get(runId)).toMatchObject({ status: "failed", undos: undefined });
  });

  it("tells in its history how it ends, and what is undone, in order", async () => {
    const { client, runId } = await undone();
    const { records } = await client.history(runId);
    expect(records.at(-1)).toMatchObject({ kind: "ending", value: { next: "failed", error: why, owed } });
  });

  it("tells which undos failed for good, beside the error that it had before", async () => {
    const { client, runId, play } = await undone();
    const failed = [{ step: "hotel", error: { name: "Error", message: "gone" } }];
    const error = { ...why, data: { compensation: { failed } } };
    await play(2, {
      records: [
        aRecord("[undo]/hotel", { isFailure: true, value: encode(failed[0]?.error) }),
        aRecord("[undo]/flight"),
      ],
      next: "failed",
      value: encode(error),
      failedUndos: 1,
    });
    expect(await client.get(runId)).toMatchObject({ status: "failed", error, undos: { owed: 2, done: 2, failed: 1 } });
    await expect(client.run(trip, runId).result()).rejects.toMatchObject({ status: "failed", cause: error });
  });

  it("is not over for those who wait for its end", async () => {
    const { client, runId } = await undone();
    expect(await client.waitForEnd(runId, { wait: 0 })).toMatchObject({ status: "compensating" });
  });

  it("may be paused, and goes on by resume", async () => {
    const { client, runId, play } = await undone();
    expect(await client.pause(runId)).toMatchObject({ outcome: "paused" });
    expect(await client.get(runId)).toMatchObject({ status: "paused", undos: { owed: 2, done: 0 } });
    expect(await client.resume(runId)).toMatchObject({ outcome: "resumed" });
    await play(2, { records: [aRecord("[undo]/hotel")], next: "ready" });
    expect(await client.get(runId)).toMatchObject({ status: "compensating", undos: { owed: 2, done: 1 } });
  });

  it("is not cancelled once it fails, but may be terminated, which leaves the other undos", async () => {
    const { client, runId, play } = await undone();
    await play(2, { records: [aRecord("[undo]/hotel")], next: "ready" });
    await expect(client.cancel(runId)).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${runId} is compensating, so it cannot be cancelled`,
      hint: "It has ended, or ends as failed: it cleans up, or undoes what it did. Terminate it if it does not end.",
      details: { runStatus: "compensating" },
    });
    expect(await client.terminate(runId)).toMatchObject({ outcome: "terminated" });
    const undos = { owed: 2, done: 1, failed: undefined };
    expect(await client.get(runId)).toMatchObject({ status: "cancelled", undos });
  });

  it.each([
    ["with a reason", { value: "ordered twice" }, ": ordered twice"],
    ["without one", {}, ""],
  ])("shows its cancel, %s, and nothing of attempts", async (_, more, said) => {
    const { client, runId } = await aTrip({
      records: [{ kind: "closing", path: "", occurrence: 1, isFailure: true, attempts: 2, at: Date.now(), ...more }],
      next: "parked",
    });
    const { records } = await client.history(runId);
    const value = { name: "CancelledError", message: `the run was cancelled${said}` };
    expect(records).toMatchObject([{ value, attempts: 1 }]);
  });

  it("shows why the record of its end cannot be read", async () => {
    const { client, runId } = await aTrip({ records: [{ ...ending, value: "{" }], next: "ready", ending: 1 });
    const { records } = await client.history(runId);
    expect(records).toMatchObject([{ kind: "ending", value: { reason: expect.stringContaining("JSON") } }]);
  });
});

async function play(calls: Calls, runId: string, turn: number, finish: Partial<FinishRun>): Promise<void> {
  const token = crypto.randomUUID();
  const { turns } = await calls.claimTurns({
    environment: "test",
    endpoint: calls.endpoint,
    versions: { trip: [1] },
    leaseMs: 60_000,
    maxClaims: 50,
    maxBeginnings: 5,
    turns: [{ runId, turn, token, alone: false }],
  });
  const [claimed] = turns;
  if (claimed?.outcome !== "claimed" || !("position" in claimed)) throw new Error(JSON.stringify(claimed));
  const answer = await calls.finishTurns([{ next: "ready", runId, token, position: claimed.position, ...finish }], []);
  expect(answer.turns).toMatchObject([{ outcome: "finished" }]);
}

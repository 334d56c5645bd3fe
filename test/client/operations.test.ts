import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOut } from "./a-client.ts";
import { faces } from "./faces.ts";

const nap = workflow({ name: "nap", version: 1 });

describe.each(faces)("pause, resume, cancel and terminate, $face", ({ open }) => {
  const database = testDatabase();

  it("stop a run and let it go on, and tell each time what became of it", async () => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap);
    expect(await run.pause({ by: "ada", reason: "their API is down" })).toEqual({
      runId: run.runId,
      outcome: "paused",
    });
    expect(await run.get()).toMatchObject({ status: "paused", pausedAt: expect.any(Date), dueAt: undefined });
    expect(await run.resume()).toEqual({ runId: run.runId, outcome: "resumed" });
    expect(await run.get()).toMatchObject({ status: "queued", pausedAt: undefined });
  });

  it("are kept with the run, and its history shows them", async () => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap);
    const callId = randomUUID();
    await client.pause(run.runId, { by: "ada", reason: "to see 👀", callId });
    await client.resume(run.runId);
    await expect(client.resume(run.runId)).rejects.toMatchObject({ code: "not_applicable" });
    const { operations } = await run.history();
    expect(operations).toMatchObject([
      { callId, verb: "pause", by: "ada", reason: "to see 👀", verdict: "paused", at: expect.any(Date) },
      { verb: "resume", by: undefined, reason: undefined, verdict: "resumed" },
      { verb: "resume", verdict: "not_applicable" },
    ]);
  });

  it("do nothing where the same call comes again", async () => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap);
    const callId = randomUUID();
    await run.pause({ callId });
    await run.resume();
    expect(await run.pause({ callId })).toEqual({ runId: run.runId, outcome: "paused" });
    expect(await run.get()).toMatchObject({ status: "queued" });
  });

  it("end a run at once by terminate", async () => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap);
    expect(await run.terminate({ by: "ada", reason: "a test" })).toEqual({ runId: run.runId, outcome: "terminated" });
    expect(await run.get()).toMatchObject({
      status: "cancelled",
      error: { name: "CancelledError", message: "terminated by ada: a test" },
    });
    await expect(run.result()).rejects.toMatchObject({ name: "RunFailedError", status: "cancelled" });
    await expect(run.terminate()).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${run.runId} is cancelled, so it cannot be terminated`,
    });
  });

  it("ask a run to clean up and end, by cancel, and the same call again does nothing", async () => {
    const { client, calls } = open(database.query, [nap]);
    const run = await client.start(nap);
    await carryOut(calls, { runId: run.runId, workflow: "nap" }, { waitsFor: [] });
    const callId = randomUUID();
    const asked = { by: "ada", reason: "ordered twice", callId };
    expect(await run.cancel(asked)).toEqual({ runId: run.runId, outcome: "cancelling" });
    expect(await run.cancel(asked)).toEqual({ runId: run.runId, outcome: "cancelling" });
    expect(await run.get()).toMatchObject({ status: "cancelling" });
    await expect(run.pause()).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${run.runId} is cancelling, so it cannot be paused`,
    });
    const { operations } = await run.history();
    expect(operations).toMatchObject([
      { verb: "cancel", by: "ada", reason: "ordered twice", verdict: "cancelling" },
      { verb: "pause", verdict: "not_applicable" },
    ]);
    expect(await run.terminate()).toMatchObject({ outcome: "terminated" });
  });

  it("cancel a paused run, too", async () => {
    const { client, calls } = open(database.query, [nap]);
    const run = await client.start(nap);
    await carryOut(calls, { runId: run.runId, workflow: "nap" }, { waitsFor: [] });
    await run.pause();
    expect(await client.cancel(run.runId)).toMatchObject({ outcome: "cancelling" });
    expect(await run.get()).toMatchObject({ status: "cancelling", pausedAt: undefined });
  });

  it.each([
    ["whose start was put off", { delay: "1 hour" }],
    ["that nobody has claimed", {}],
  ] as const)("cancel a run at once %s", async (_, options) => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap, undefined, options);
    expect(await run.cancel({ reason: "ordered twice" })).toEqual({ runId: run.runId, outcome: "cancelled" });
    expect(await run.get()).toMatchObject({
      status: "cancelled",
      error: { name: "CancelledError", message: "the run was cancelled: ordered twice" },
    });
    await expect(run.cancel()).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${run.runId} is cancelled, so it cannot be cancelled`,
      details: { runStatus: "cancelled" },
    });
  });

  it("say why they do not apply", async () => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap);
    await expect(run.resume()).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${run.runId} is queued, so it cannot be resumed`,
      details: { runId: run.runId, runStatus: "queued" },
    });
    await expect(client.pause(randomUUID())).rejects.toMatchObject({ code: "unknown_run" });
  });

  it.each([
    [{ callId: "1" }, "invalid_request", "the callId is not a uuid"],
    [{ by: " ada" }, "invalid_name", 'by " ada" begins or ends with a space'],
    [{ reason: "x".repeat(2_001) }, "invalid_request", "the reason is longer than 2000 characters"],
    [{ reason: "\u0000" }, "invalid_request", "the reason holds a character that Postgres cannot store"],
    [{ reason: "\ud800" }, "invalid_request", "the reason holds a character that Postgres cannot store"],
  ])("refuse %j, and send nothing", async (options, code, message) => {
    const { client, statements } = open(database.query, [nap]);
    const run = await client.start(nap);
    const before = statements.length;
    await expect(run.pause(options)).rejects.toMatchObject({ code, message });
    expect(statements.length).toBe(before);
  });
});

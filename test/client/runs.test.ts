/** A run as a client shows it: found by our id or by the user's own, with its values and its timeline. */
import { describe, expect, it } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { carryOut } from "./a-client.ts";
import { contracts, order, other } from "./contracts.ts";
import { faces } from "./faces.ts";

describe.each(faces)("get, runById and history, $face", ({ open }) => {
  const database = testDatabase();

  it("shows a run with dates and decoded values", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 }, { id: "o1" });
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { completed: { charge: "c1" } });
    const view = await client.get(run.runId);
    expect(view).toMatchObject({
      runId: run.runId,
      id: "o1",
      status: "completed",
      input: { n: 1 },
      result: { charge: "c1" },
    });
    expect(view.createdAt).toBeInstanceOf(Date);
    expect(view.endedAt).toBeInstanceOf(Date);
    expect(view.error).toBeUndefined();
  });

  it("finds a run by the user's own id", async () => {
    const { client } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 }, { id: "by id" });
    expect((await client.runById(order, "by id")).runId).toBe(run.runId);
    await expect(client.runById(other, "by id")).rejects.toMatchObject({
      code: "unknown_run",
      message: 'workflow "other" has no run with the id "by id"',
    });
  });

  it("tells an unknown run, and asks nothing for what can be no id", async () => {
    const { client, statements } = open(database.query, contracts);
    await expect(client.get("0190a1b2-0000-7000-8000-000000000000")).rejects.toMatchObject({ code: "unknown_run" });
    const sent = statements.length;
    for (const id of ["", "42", "\u0000", "x".repeat(1_000_000), "0190a1b2-0000-7000-8000-00000000000g"]) {
      await expect(client.get(id)).rejects.toMatchObject({ code: "unknown_run" });
      await expect(client.history(id)).rejects.toMatchObject({ code: "unknown_run" });
    }
    expect(statements.length).toBe(sent);
  });

  it("shows the timeline: records, failed attempts and what is waited for", async () => {
    const { client, calls } = open(database.query, contracts);
    const { runId } = await client.start(order, { n: 1 });
    const token = crypto.randomUUID();
    const at = Date.now();
    await calls.claimTurns({
      environment: "test",
      endpoint: calls.endpoint,
      versions: { order: [1] },
      leaseMs: 60_000,
      maxClaims: 50,
      maxBeginnings: 5,
      turns: [{ runId, turn: 1, token, alone: false }],
    });
    await calls.finishTurns(
      [
        {
          runId,
          token,
          position: 0,
          next: "parked",
          records: [
            {
              kind: "step",
              path: "charge",
              occurrence: 0,
              value: '1{"$":"Date","v":"2026-01-01T00:00:00.000Z"}',
              at,
              beganAt: at - 5,
              attempts: 2,
            },
            {
              kind: "step",
              path: "ship",
              occurrence: 0,
              value: '1{"name":"Error","message":"no"}',
              isFailure: true,
              at,
              attempts: 1,
            },
          ],
          demands: [
            { kind: "signal", path: "address", occurrence: 0, signal: "address", demandedAfter: 2, ordinal: 0 },
          ],
        },
      ],
      [],
    );
    const { records, pending } = await client.history(runId);
    expect(records).toMatchObject([
      {
        position: 1,
        kind: "step",
        path: "charge",
        isFailure: false,
        value: new Date("2026-01-01"),
        attempts: 2,
        beganAt: new Date(at - 5),
      },
      { position: 2, path: "ship", isFailure: true, value: { name: "Error", message: "no" }, recordedAt: new Date(at) },
    ]);
    expect(pending).toMatchObject([
      { kind: "signal", path: "address", signal: "address", until: undefined, attempts: 0 },
    ]);
    expect((await client.get(runId)).status).toBe("waiting");
  });
});

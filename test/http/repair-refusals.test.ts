/** Why a run is not retried or restarted, as an answer of HTTP. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import { writeEnding } from "../../src/core/replay/undos.ts";
import type { FinishRun, NewRecord } from "../../src/postgres/wire.ts";
import { carryOut } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, json, order, type TestApp } from "./an-app.ts";

const database = testDatabase();
const error = encode({ name: "Error", message: "no" });

interface Refused {
  readonly verb: "retry" | "restart";
  readonly body?: object;
  /** Gets the run into a state in which that is refused. Answers what the refusal tells beside its code. */
  readonly arrange: (app: TestApp, runId: string) => Promise<object>;
}

function aRecord(path: string, more: Partial<NewRecord> = {}): NewRecord {
  return { kind: "step", path, occurrence: 1, value: encode(path), at: Date.now(), ...more };
}

/** Plays a turn of the run. */
const carry = ({ calls }: TestApp, runId: string, turn: number, finish: Parameters<typeof carryOut>[2]) =>
  carryOut(calls, { runId, workflow: "order", turn }, finish);

/** Fails the run by its second step. */
const fail = (app: TestApp, runId: string, failure: Partial<FinishRun["failure"]> = {}) =>
  carry(app, runId, 1, {
    records: [aRecord("pay"), aRecord("send", { isFailure: true, value: error })],
    next: "failed",
    value: error,
    failure: { at: 2, timeouts: [], lost: [], repeats: [], ...failure },
  });

const refused: Readonly<Record<string, Refused>> = {
  would_repeat: {
    verb: "retry",
    arrange: async (app, runId) => {
      await fail(app, runId, { repeats: [{ path: "apology", occurrence: 2 }] });
      return { places: "apology#2" };
    },
  },
  compensated: {
    verb: "retry",
    arrange: async (app, runId) => {
      const value = writeEnding({ next: "failed", error, owed: [{ path: "pay", occurrence: 1 }] });
      const records = [aRecord("pay"), aRecord("", { kind: "ending", value })];
      await carry(app, runId, 1, { records, next: "ready", ending: 1 });
      await carry(app, runId, 2, { records: [aRecord("[undo]/pay")], next: "failed", value: error, failedUndos: 0 });
      return {};
    },
  },
  child_failed: {
    verb: "retry",
    arrange: async (app, runId) => {
      const child = randomUUID();
      const invoked = { workflow: "order", version: 1, input: "0{}", demandedAfter: 0, ordinal: 1 };
      const children = [{ path: "it", occurrence: 1, runId: child, ...invoked }];
      await carry(app, runId, 1, { next: "parked", children });
      await fail(app, child);
      const records = [aRecord("it", { kind: "child", isFailure: true, value: error })];
      const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
      await carry(app, runId, 2, { records, next: "failed", value: error, failure });
      return { children: child };
    },
  },
  result_needed: {
    verb: "retry",
    arrange: async (app, runId) => {
      await fail(app, runId, { lost: [2] });
      return { places: "send" };
    },
  },
  epoch_changed: {
    verb: "retry",
    body: { epoch: 4 },
    arrange: async (app, runId) => {
      await fail(app, runId);
      return { epoch: 0 };
    },
  },
  at_work: {
    verb: "restart",
    arrange: async ({ calls, client }, runId) => {
      const terms = { environment: "test", endpoint: calls.endpoint, versions: { order: [1] } };
      const limits = { leaseMs: 60_000, maxClaims: 50, maxBeginnings: 5 };
      const turns = [{ runId, turn: 1, token: randomUUID(), alone: false }];
      expect(await calls.claimTurns({ ...terms, ...limits, turns })).toMatchObject({ turns: [{ outcome: "claimed" }] });
      await client.pause(runId);
      return { until: expect.any(Number) };
    },
  },
};

it.each(Object.entries(refused))(
  "a repair that is refused answers 409 with its code, and leaves the run as it is: %s",
  async (code, { verb, body = {}, arrange }) => {
    const test = anApp(database.query);
    const { runId } = await test.client.start(order, { id: "1" });
    const told = await arrange(test, runId);
    const { status, epoch, turn, pausedAt } = await test.client.get(runId);
    const response = await test.app.request(`/v1/runs/${runId}/${verb}`, json(body));
    expect([response.status, await response.json()]).toMatchObject([409, { status: 409, code, runId, ...told }]);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await test.client.get(runId)).toMatchObject({ status, epoch, turn, pausedAt });
  },
);

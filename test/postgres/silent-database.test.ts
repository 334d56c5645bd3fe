import { expect, test } from "vitest";
import { type HostClock, type Query, QueryError } from "../../src/core/ports.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";

test.each<[string, (calls: Calls) => Promise<unknown>]>([
  ["that asks for the time", (calls) => calls.now()],
  ["that starts a run", (calls) => calls.startRun({ runId: "r", workflow: "flow", version: 1, encodedInput: "01" })],
  ["that reads", (calls) => calls.getRun({ runId: "r" })],
])("a call %s is sent twice to a database that never answers, and then fails", async (_, make) => {
  let now = 0;
  const host: HostClock = {
    monotonic: () => now,
    after(ms, act) {
      now += ms;
      queueMicrotask(act);
      return () => {};
    },
  };
  let sent = 0;
  const silent = async () => {
    sent += 1;
    now += 15_000;
    throw new QueryError("Postgres did not answer within 15000 ms.", { isRolledBack: false });
  };
  const query: Query = Object.assign(silent, { endpoint: "db/main" });
  const calls = makeCalls({ query, namespace: "test", alarm: async () => {}, host });
  await expect(make(calls)).rejects.toThrow("did not answer");
  expect(sent).toBe(2);
});

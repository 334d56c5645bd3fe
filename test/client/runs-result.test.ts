/** The result of a run, which a client waits for, and what it throws where there is none. */
import { describe, expect, it } from "vitest";
import type { RunFailedError } from "../../src/client/run-failed-error.ts";
import { testDatabase } from "../postgres/database.ts";
import { aClient, aHastyHost, carryOut } from "./a-client.ts";
import { contracts, order, other } from "./contracts.ts";
import { faces } from "./faces.ts";

describe("result", () => {
  const database = testDatabase();

  it("waits for the end, asking less and less often, and answers what the run resulted in", async () => {
    const host = aHastyHost();
    const { client, calls, statements } = aClient(database.query, { host });
    const run = await client.start(order, { n: 1 });
    const result = run.result();
    await expect.poll(() => host.pauses.length).toBeGreaterThan(5);
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { completed: { charge: "c1" } });
    expect(await result).toEqual({ charge: "c1" });
    expect(host.pauses).toEqual(host.pauses.toSorted((one, next) => one - next));
    expect(statements.filter((text) => text.includes("get_run")).length).toBe(host.pauses.length + 1);
  });

  it("asks about 25 times in a minute, and gives up with a TimeoutError", async () => {
    const host = aHastyHost();
    const { client, statements } = aClient(database.query, { host });
    const run = await client.start(order, { n: 1 });
    await expect(run.result({ wait: "1 min" })).rejects.toMatchObject({
      name: "TimeoutError",
      message: 'the run of "order" was not over within 1 min',
    });
    expect(host.monotonic()).toBe(60_000);
    expect(statements.length).toBeLessThan(35);
  });

  it("stops asking when it is told to", async () => {
    const { client } = aClient(database.query);
    const run = await client.start(order, { n: 1 });
    await expect(run.result({ abortSignal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe.each(faces)("result, $face", ({ open }) => {
  const database = testDatabase();

  it("throws what a failed run failed of", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 });
    const cause = { name: "StepError", message: "step charge failed", data: { card: "x" } };
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { failed: cause });
    const error: RunFailedError = await run.result().then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ name: "RunFailedError", runId: run.runId, status: "failed", cause });
    expect(error.message).toBe(`the run ${run.runId} failed: StepError: step charge failed`);
  });

  it("throws for a cancelled run as well", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 });
    await carryOut(
      calls,
      { runId: run.runId, workflow: "order" },
      { cancelled: { name: "CancelledError", message: "no" } },
    );
    await expect(run.result()).rejects.toMatchObject({ status: "cancelled", cause: { name: "CancelledError" } });
  });

  it("does not take another workflow's result for this contract's", async () => {
    const { client, calls } = open(database.query, contracts);
    const { runId } = await client.start(other);
    await carryOut(calls, { runId, workflow: "other" }, { completed: 42 });
    await expect(client.run(order, runId).result()).rejects.toMatchObject({ code: "unknown_run" });
    expect(await client.result(runId)).toBe(42);
  });
});

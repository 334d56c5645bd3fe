import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { LayoverError } from "../../src/core/errors.ts";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess, InProcessOptions } from "../../src/platform/node/in-process/options.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "../postgres/database.ts";
import { describeEachDatabase } from "./databases.ts";

const processes: InProcess[] = [];
let namespaces = 0;

afterEach(async () => {
  for (const each of processes.splice(0)) await each.close();
});

async function aProcess(options: Pick<InProcessOptions, "database"> & Partial<InProcessOptions>): Promise<InProcess> {
  const process = await startInProcess({ workflows: [doubleWorkflow, napWorkflow], ...options });
  processes.push(process);
  return process;
}

/** A stranger to what other tests left. */
function aNamespace(): string {
  namespaces += 1;
  return `namespace-${namespaces}`;
}

const double = workflow({ name: "double", version: 1, input: z.number(), output: z.number() });
const doubleWorkflow = double.handler(({ input, step }) => step.run("double", () => input * 2));

const nap = workflow({ name: "nap", version: 1, output: z.string() });
const napWorkflow = nap.handler(async ({ step }) => {
  await step.sleep("nap", 300);
  return await step.run("wake", () => "rested");
});

/** Counts statements by the SQL function that they call. */
function counted(query: Query): { query: Query; calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const counting = async (...args: Parameters<Query>) => {
    const name = /layover\.(\w+)/.exec(args[0])?.[1] ?? "other";
    calls.set(name, (calls.get(name) ?? 0) + 1);
    return await query(...args);
  };
  return { query: Object.assign(counting, { endpoint: query.endpoint }), calls };
}

describeEachDatabase("layover in one process", (database) => {
  test("carries a run from its start to its result", async () => {
    const { client } = await aProcess({ database: database() });
    const run = await client.start(double, 21);
    expect(await run.result({ wait: "10s" })).toBe(42);
  });

  test("wakes a run from a short sleep when that is over", async () => {
    const { client } = await aProcess({ database: database() });
    const run = await client.start(nap);
    expect(await run.result({ wait: "10s" })).toBe("rested");
  });

  test("carries what is ready together in few claims and few finishes", async () => {
    const namespace = aNamespace();
    const { query, calls } = counted(database());
    // Nothing here carries out "double", so that all of them are left to the process after it.
    const { client, dispatch } = await aProcess({ database: query, namespace, workflows: [] });
    const runs = await Promise.all(Array.from({ length: 200 }, (_, number) => client.start(double, number)));
    await dispatch.idle();
    calls.clear();
    await aProcess({ database: query, namespace });
    const results = await Promise.all(runs.map((run) => run.result({ wait: "20s" })));
    expect(results).toEqual(runs.map((_, number) => 2 * number));
    expect(calls.get("claim_turns")).toBe(2);
    expect(calls.get("finish_turns")).toBeLessThanOrEqual(10);
  });

  test("sends nothing while all is parked", async () => {
    const { query, calls } = counted(database());
    const { client } = await aProcess({ database: query, namespace: aNamespace() });
    await client.start(nap, undefined, { delay: "1 hour" });
    await client.wake(); // whatever its beginning has led to is over then
    calls.clear();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([...calls]).toEqual([]);
  });

  test("lets the steps under way end when it is closed, and begins none", async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
    const held = workflow({ name: "held", version: 1, output: z.string() });
    const heldWorkflow = held.handler(async ({ step }) => {
      await step.run("held", async () => {
        begin();
        await mayEnd;
      });
      return await step.run("next", () => "done");
    });
    const namespace = aNamespace();
    const first = await aProcess({ database: database(), namespace, workflows: [heldWorkflow] });
    const run = await first.client.start(held);
    await hasBegun;
    const closed = first.close();
    end();
    await closed;
    const { records } = await run.history();
    expect(records.map(({ path }) => path)).toEqual(["held"]);
    const second = await aProcess({ database: database(), namespace, workflows: [heldWorkflow] });
    expect(await second.client.run(held, run.runId).result({ wait: "10s" })).toBe("done");
  });

  test.each([
    ["cancel", { name: "CancelledError", reason: "ordered twice" }],
    ["terminate", { message: expect.stringContaining("lease") }],
  ] as const)("tells a body at once of the %s that it serves, however long the lease stands", async (verb, why) => {
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: isTold, resolve: tell } = Promise.withResolvers<unknown>();
    const held = workflow({ name: "held", version: 1 });
    const heldWorkflow = held.handler(async ({ step }) => {
      const body = ({ abortSignal }: { readonly abortSignal: AbortSignal }) =>
        new Promise<void>((resolve) => {
          abortSignal.addEventListener("abort", () => resolve(tell(abortSignal.reason)));
          begin();
        });
      await step.run("held", body, { timeout: "2 hours" });
    });
    const leaseMs = 3_600_000;
    const terms = { database: database(), namespace: aNamespace(), workflows: [heldWorkflow], leaseMs };
    const { client } = await aProcess(terms);
    const run = await client.start(held);
    await hasBegun;
    await run[verb]({ reason: "ordered twice" });
    expect(await isTold).toMatchObject(why);
    await expect(run.result({ wait: "10s" })).rejects.toThrow("was cancelled");
  });

  test("gives a handler URLs for callbacks only where it has a public URL and secrets", async () => {
    const asking = workflow({ name: "asking", version: 1, callbacks: { yes: z.boolean() } });
    const workflows = [asking.handler(async ({ step }) => step.createCallback("yes").url)];
    const { client } = await aProcess({ database: database(), namespace: aNamespace(), workflows });
    const run = await client.start(asking);
    await expect(run.result({ wait: "10s" })).rejects.toThrow("this deployment has no public URL or no secret");
  });
});

const real = testDatabase();
const empty = testDatabase({ isEmpty: true });

test("a process begins without a database that cannot be reached, and says so", async () => {
  const reports: string[] = [];
  const onError = (error: unknown, doing: string) => reports.push(`${doing}: ${String(error)}`);
  const unreachable = async () => {
    throw new QueryError("connection refused", { isRolledBack: true });
  };
  const database = Object.assign(unreachable, { endpoint: real.query.endpoint });
  await aProcess({ database, onError });
  expect(reports).toEqual(["beginning: LayoverError: the database could not be reached: the call had no effect"]);
});

test("a process does not begin on a database without layover", async () => {
  const begun = startInProcess({ workflows: [], database: empty.query });
  await expect(begun).rejects.toThrow(LayoverError);
  await expect(begun).rejects.toThrow("layover is not installed in this database");
});

test.each([
  [
    "throws",
    () => {
      throw new Error("the log is full");
    },
  ],
  ["answers a promise that rejects", () => Promise.reject(new Error("the log is full"))],
])("a hook that %s fails no run", async (_, hook) => {
  const talking = workflow({ name: "talking", version: 1, output: z.string() });
  const talkingWorkflow = talking.handler(async ({ step, log }) => {
    log.info("begun");
    const said = await step.run("say", () => "hello");
    log.info("said");
    return said;
  });
  const reports: string[] = [];
  const onError = (error: unknown, doing: string) => {
    reports.push(`${doing}: ${String(error)}`);
    return hook();
  };
  const { client } = await aProcess({
    database: real.query,
    namespace: aNamespace(),
    workflows: [talkingWorkflow],
    onLog: hook,
    onError,
  });
  const run = await client.start(talking);
  expect(await run.result({ wait: "10s" })).toBe("hello");
  expect(reports).toEqual(["calling onLog: Error: the log is full", "calling onLog: Error: the log is full"]);
});

test("a run that was started in a transaction begins when its client is woken after the COMMIT", async () => {
  const { client } = await aProcess({ database: real.query, namespace: aNamespace() });
  const connection = await real.pool.connect();
  try {
    await connection.query("begin");
    const run = await client.startIn(pg(connection), double, 4, { commitWithin: "1 hour" });
    await connection.query("commit");
    await client.wake();
    expect(await run.result({ wait: "10s" })).toBe(8);
  } finally {
    connection.release();
  }
});

test("a run that was started from SQL begins when somebody wakes the process", async () => {
  const namespace = aNamespace();
  const { client } = await aProcess({ database: real.query, namespace });
  const call = { namespace, runId: crypto.randomUUID(), workflow: "double", version: 1, input: 4 };
  await real.query("select layover.start_run($1)", [JSON.stringify(call)]);
  await client.wake();
  expect(await client.result(call.runId, { wait: "10s" })).toBe(8);
});

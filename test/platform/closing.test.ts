/** How a process ends that was asked to, how the next one goes on, and that a server answers meanwhile. */
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess, InProcessOptions } from "../../src/platform/node/in-process/options.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { freePort } from "../free-port.ts";
import { testDatabase } from "../postgres/database.ts";

const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
const database = testDatabase();
const closers: (() => Promise<void>)[] = [];
let namespaces = 0;

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const held = workflow({ name: "held", version: 1, output: z.string() });

/** Its first body ends when the test says so; it tells when it has begun, and when its signal fired. */
function heldWorkflow() {
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const seen = { bodies: 0, aborts: 0 };
  const made = held.handler(async ({ step }) =>
    step.run("held", async ({ abortSignal }) => {
      seen.bodies += 1;
      abortSignal.addEventListener("abort", () => {
        seen.aborts += 1;
      });
      begin();
      if (seen.bodies === 1) await mayEnd;
      return `body ${seen.bodies}`;
    }),
  );
  return { workflow: made, hasBegun, end, seen };
}

async function aProcess(options: Partial<InProcessOptions>): Promise<InProcess> {
  const process = await startInProcess({ workflows: [], database: database.query, ...options });
  closers.push(() => process.close());
  return process;
}

async function aServer(options: Partial<Parameters<typeof serve>[0]>): Promise<NodeServer> {
  const server = await serve({ workflows: [], database: database.query, secrets: [secret], port: 0, ...options });
  closers.push(() => server.close());
  return server;
}

function aNamespace(): string {
  namespaces += 1;
  return `closing-${namespaces}`;
}

/** Where one SQL function is never answered, until the test lets it be. */
function withheld(name: string): { query: Query; asked: Promise<void>; release: () => void } {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: mayAnswer, resolve: release } = Promise.withResolvers<void>();
  const query = async (...args: Parameters<Query>) => {
    if (args[0].includes(`layover.${name}(`)) {
      ask();
      await mayAnswer;
    }
    return await database.query(...args);
  };
  return { query: Object.assign(query, { endpoint: database.query.endpoint }), asked, release };
}

describe("a process that closes", () => {
  test("refuses a tick that it cannot do any more, with a code", async () => {
    const { query, asked, release } = withheld("list_due");
    const process = await aProcess({ namespace: aNamespace(), database: query });
    await asked; // its own first tick
    const woken = process.client.wake();
    const closed = process.close();
    await expect(woken).rejects.toMatchObject({ code: "closing" });
    release();
    await closed;
  });

  test("lets a step end within the grace, and records it", async () => {
    const { workflow, hasBegun, end, seen } = heldWorkflow();
    const namespace = aNamespace();
    const process = await aProcess({ namespace, workflows: [workflow] });
    const run = await process.client.start(held);
    await hasBegun;
    const closed = process.close({ grace: "1 hour" });
    expect(process.isClosing).toBe(true);
    end();
    await closed;
    expect(await run.get()).toMatchObject({ status: "completed", result: "body 1" });
    expect(seen).toEqual({ bodies: 1, aborts: 0 });
  });

  test("gives back a step that takes longer, so that the next process begins it at once", async () => {
    const { workflow, hasBegun, end, seen } = heldWorkflow();
    const namespace = aNamespace();
    const process = await aProcess({ namespace, workflows: [workflow], leaseMs: 3_600_000 });
    const run = await process.client.start(held);
    await hasBegun;
    await process.close({ grace: 1 });
    expect(seen).toEqual({ bodies: 1, aborts: 1 });
    const next = await aProcess({ namespace, workflows: [workflow] });
    expect(await next.client.run(held, run.runId).result({ wait: "20s" })).toBe("body 2");
    end();
  });

  test("gives back a step that takes longer, so that a process that is there already begins it with its next tick", async () => {
    const { workflow, hasBegun, end } = heldWorkflow();
    const namespace = aNamespace();
    const { engine, client } = await aProcess({ namespace, workflows: [workflow], leaseMs: 3_600_000 });
    const other = await aProcess({ namespace, workflows: [workflow] });
    await other.client.wake(); // its first tick, which looks at everything, was ahead of this one
    const run = await client.start(held);
    await hasBegun;
    engine.close();
    engine.abandon();
    await engine.giveBack();
    await other.client.wake(); // as the process asks for it that ends
    expect(await other.client.run(held, run.runId).result({ wait: "20s" })).toBe("body 2");
    end();
  });

  test.each([
    ["claim_turns", ["one in the next", "two in the next"]],
    ["finish_turns", ["one in the first", "two in the next"]],
  ])("gives back what a %s under way claims, and waits for that", async (name, expected) => {
    const bodies: string[] = [];
    const carriedOutBy = (process: string) =>
      held.handler(async ({ step }) => {
        for (const name of ["one", "two"]) await step.run(name, () => void bodies.push(`${name} in the ${process}`));
        return "done";
      });
    const namespace = aNamespace();
    const { query, asked, release } = withheld(name);
    const options = { namespace, workflows: [carriedOutBy("first")], leaseMs: 3_600_000, database: query };
    const { engine, client } = await aProcess(options);
    const run = await client.start(held);
    await asked;
    engine.close();
    const givenBack = engine.giveBack();
    release();
    await givenBack;
    const next = await aProcess({ namespace, workflows: [carriedOutBy("next")] });
    expect(await next.client.run(held, run.runId).result({ wait: "20s" })).toBe("done");
    expect(bodies).toEqual(expected);
  });

  test.each(["list_due", "claim_turns", "finish_turns"])("waits for no %s that is never answered", async (name) => {
    const { workflow, end } = heldWorkflow();
    end();
    const { query, asked, release } = withheld(name);
    const process = await aProcess({ namespace: aNamespace(), workflows: [workflow], database: query });
    await process.client.start(held);
    await asked;
    await process.close({ grace: 1 });
    release();
  });
});

describe("a server of Node's", () => {
  test("answers while its first tick is under way", async () => {
    const { query, asked, release } = withheld("list_due");
    const { url } = await aServer({ database: query, namespace: aNamespace() });
    await asked;
    const health = await fetch(`${url}/health`);
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    release();
  });

  test("answers while it waits for a database, before it has begun", async () => {
    const { query, asked, release } = withheld("read_clock");
    const port = await freePort();
    const serving = aServer({ database: query, namespace: aNamespace(), port });
    await Promise.race([asked, serving]);
    expect((await fetch(`http://localhost:${port}/health`)).status).toBe(200);
    release();
    await serving;
  });

  test("says that it is closing, and still answers, while a step has its grace", async () => {
    const { workflow, hasBegun, end } = heldWorkflow();
    const server = await aServer({ workflows: [workflow], namespace: aNamespace() });
    const run = await server.client.start(held);
    await hasBegun;
    const closed = server.close({ grace: "1 hour" });
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([503, { status: "closing" }]);
    end();
    await closed;
    await expect(fetch(`${server.url}/health`)).rejects.toThrow("fetch failed");
    expect(await run.get()).toMatchObject({ status: "completed" });
  });
});

test("what a process could not claim, as the database was away, is carried out soon after it is back", async () => {
  const { workflow, end } = heldWorkflow();
  end();
  let away = 0;
  const query = async (...args: Parameters<Query>) => {
    if (away === 0 && args[0].includes("layover.claim_turns(")) away = 1;
    if (away > 0 && away < 8) {
      away += 1;
      throw new QueryError("connection refused", { isRolledBack: true });
    }
    return await database.query(...args);
  };
  const process = await aProcess({
    namespace: aNamespace(),
    workflows: [workflow],
    database: Object.assign(query, { endpoint: database.query.endpoint }),
  });
  const run = await process.client.start(held);
  expect(await run.result({ wait: "25s" })).toBe("body 1");
});

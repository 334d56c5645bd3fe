/** A server of Node's with a dashboard, and runs in many states, to be looked at in a browser. */
import { dashboard } from "layover/dashboard";
import { ignore, none, signal, start, webhook } from "layover/webhooks";
import { afterAll, beforeAll } from "vitest";
import * as z from "zod";
import { type Workflow, workflow } from "../../../../src/core/contract/contract.ts";
import { schedule } from "../../../../src/core/contract/schedule.ts";
import { NonRetryableError } from "../../../../src/core/contract/user-errors.ts";
import type { Query } from "../../../../src/core/ports.ts";
import { createApiKey, type Scope, scopes } from "../../../../src/http/api-key.ts";
import { Secrets } from "../../../../src/http/secrets.ts";
import { type NodeServer, serve } from "../../../../src/platform/node/index.ts";
import { testDatabase } from "../../../postgres/database.ts";

const secret = "q3Jx9ZkP0wVfT7uYb2LmNc8RsAe5GhD1iKo4XyUzW6E=";

export const order = workflow({
  name: "order",
  version: 1,
  input: z.object({
    customer: z.string(),
    amount: z.number().positive(),
    size: z.enum(["small", "large"]),
    isGift: z.boolean(),
    note: z.string().optional(),
  }),
  signals: { address: z.object({ city: z.string() }), stop: z.unknown() },
  callbacks: { approval: z.object({ ok: z.boolean(), why: z.string().optional() }) },
});
export const bare = workflow({ name: "bare", version: 1 });
const bad = workflow({ name: "bad", version: 1, input: z.unknown() });

const input = { customer: "ada", amount: 42, size: "small" as const, isGift: false };

const orderWorkflow = order.handler(async ({ input, step, run }) => {
  const charge = await step.run("charge", () => ({ id: "ch_1", amount: input.amount }), { compensate: () => {} });
  await step.setStatus(`charged ${charge.amount}`);
  const { city } = await step.waitForSignal("address");
  await step.map("ship", ["lamp", "desk"], (item, { step }) => step.run("send", () => `${item} to ${city}`));
  const { ok } = await step.waitForCallback("approval", () => {});
  await step.invoke("bare", bare);
  return { ok, run: run.id };
});
const bareWorkflow = bare.handler(async () => "bare");
const badWorkflow = bad.handler(async ({ input, step }) => {
  await step.run("before", () => "fine");
  await step.run(
    "break",
    () => {
      throw new NonRetryableError(`no: ${JSON.stringify(input)}`, { cause: new TypeError("the cause") });
    },
    { retry: { maxAttempts: 1 } },
  );
});

const shop = webhook({
  name: "shop",
  verify: none({ reason: "a test delivers" }),
  on: ({ event }) => {
    if (event === "start") return start(bare, undefined, { id: "delivered" });
    return event === "ignore" ? ignore("nothing") : signal(order, { id: "nobody" }, "address", { city: String(event) });
  },
});

const nightly = schedule({ name: "nightly", cron: "0 3 1 1 *", start: bare });

export interface Site {
  readonly url: string;
  readonly client: NodeServer["client"];
  /** The statements that were sent since the last time that a test asked. */
  statements(): readonly string[];
  key(...granted: readonly Scope[]): string;
  /** A session of a key with every scope, as a browser keeps it. */
  cookie(): Promise<{ readonly name: string; readonly value: string; readonly url: string }>;
  /** Starts an order that waits for its address. */
  anOrder(id: string): Promise<string>;
  /** Starts a run that fails, with that input. */
  aFailedRun(id: string, of?: unknown): Promise<string>;
  settled(runId: string, ...statuses: readonly string[]): Promise<void>;
}

/** Serves it for the tests of one file, with further workflows. */
export function aSite(...further: readonly Workflow[]): Site {
  const database = testDatabase();
  let server: NodeServer | undefined;
  let sent: string[] = [];
  beforeAll(async () => {
    const query: Query = Object.assign(
      async (...[text, parameters]: Parameters<Query>) => {
        sent.push(/layover\.(\w+)/.exec(text)?.[1] ?? text);
        return await database.query(text, parameters);
      },
      { endpoint: database.query.endpoint },
    );
    server = await serve({
      workflows: [orderWorkflow, bareWorkflow, badWorkflow, ...further],
      webhooks: [shop],
      schedules: [nightly],
      dashboard: dashboard({ title: "Shop" }),
      database: query,
      secrets: [secret],
      port: 0,
      onLog: () => {},
      onEvent: () => {},
    });
  });
  afterAll(async () => await server?.close());
  const running = (): NodeServer => {
    if (server === undefined) throw new Error("the server begins before the tests");
    return server;
  };
  const settled: Site["settled"] = async (runId, ...statuses) => {
    // The engine is at work in this process, and tells nobody when it rests.
    while (!statuses.includes((await running().client.get(runId)).status))
      await new Promise((go) => setTimeout(go, 20));
  };
  const key: Site["key"] = (...granted) =>
    createApiKey(new Secrets([secret]), {
      name: "ada",
      namespace: "default",
      scopes: granted.length === 0 ? scopes : granted,
    });
  return {
    get url() {
      return running().url;
    },
    get client() {
      return running().client;
    },
    statements: () => {
      const told = sent;
      sent = [];
      return told;
    },
    key,
    cookie: async () => {
      const { url } = running();
      const headers = { "content-type": "application/json", origin: url };
      const response = await fetch(`${url}/dashboard/sign-in`, {
        method: "POST",
        body: JSON.stringify({ key: key() }),
        headers,
      });
      const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(response.headers.get("set-cookie") ?? "") ?? [];
      return { name, value, url };
    },
    anOrder: async (id) => {
      const { runId } = await running().client.start(order, input, { id, tags: { customer: "ada" } });
      await settled(runId, "waiting");
      return runId;
    },
    aFailedRun: async (id, of = "why") => {
      const { runId } = await running().client.start(bad, of, { id });
      await settled(runId, "failed");
      return runId;
    },
    settled,
  };
}

/**
 * How long a step takes by each way from one turn to the next: by a message of its own, by a request of the Worker to
 * itself, or with nine others in a delivery. On the local workerd and a Postgres behind Neon's endpoint, so it shows
 * what layover and its statements take, and not what Cloudflare's network does.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Miniflare } from "miniflare";
import * as z from "zod";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { bundled } from "../platform/a-worker.ts";
import { openWorld } from "../platform/world.ts";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";

export interface HopLatency {
  readonly way: string;
  /** Time of each step, in milliseconds. */
  readonly ms: number;
}

interface Way {
  readonly name: string;
  readonly hasQueue: boolean;
  readonly settings: { readonly invocation?: { readonly maxSteps: number } };
}

const oneStep = { invocation: { maxSteps: 1 } };
const ways: readonly Way[] = [
  { name: "a message a step", hasQueue: true, settings: oneStep },
  { name: "a request to itself a step", hasQueue: false, settings: oneStep },
  { name: "ten steps a delivery", hasQueue: true, settings: {} },
];

/** How many steps a run has: as far as requests to oneself reach where each carries out one step. */
export const stepsInARow = 10;
/** How many runs are measured. The first one warms the isolate, and the fastest of the others counts. */
const rounds = 8;
const givenUpAfterMs = 15_000;

const secret = "bm90IHJhbmRvbSwgYnV0IHRvIG1lYXN1cmUgd2l0aCBpdCBpcyBnb29kIGVub3VnaA";
const key = createApiKey(new Secrets([secret]), { name: "build", namespace: "default", scopes });
const Started = z.object({ runId: z.string() });
const Ended = z.object({ status: z.literal("completed"), createdAt: z.coerce.date(), endedAt: z.coerce.date() });

/**
 * Measures each way. `databaseUrl`: a database with layover in it. `conditions`: by which of its entries the Worker
 * finds layover; none for `dist/`.
 */
export async function measureHops(databaseUrl: string, conditions: readonly string[] = []): Promise<HopLatency[]> {
  const world = await openWorld();
  const endpoint = await openNeonEndpoint(databaseUrl);
  const env = { DATABASE_URL: endpoint.url, FETCH_ENDPOINT: endpoint.fetchEndpoint };
  const latencies: HopLatency[] = [];
  try {
    for (const way of ways) {
      const script = await bundled("test/platform/workers/neon.ts", way.settings, conditions);
      const workerd = new Miniflare(optionsOf(way, script, env));
      try {
        const url = await workerd.ready;
        const times: number[] = [];
        const input = { world: world.url, steps: stepsInARow };
        for (let round = 0; round < rounds; round += 1) times.push(await runMs(url, input));
        latencies.push({ way: way.name, ms: Math.min(...times.slice(1)) / stepsInARow });
      } finally {
        await workerd.dispose();
      }
    }
  } finally {
    await endpoint.close();
    world.close();
  }
  return latencies;
}

/** Runs a chain. Answers the milliseconds from its start to its end, by the database's clock. */
async function runMs(url: URL, input: object): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (path: string, init: RequestInit = {}): Promise<unknown> =>
    await (await fetch(new URL(path, url), { ...init, headers })).json();
  const { runId } = Started.parse(
    await ask("/v1/workflows/chain/runs", { method: "POST", body: JSON.stringify({ input }) }),
  );
  const givenUpAt = Date.now() + givenUpAfterMs;
  for (;;) {
    const run = await ask(`/v1/runs/${runId}`);
    const ended = Ended.safeParse(run);
    if (ended.success) return ended.data.endedAt.getTime() - ended.data.createdAt.getTime();
    if (Date.now() > givenUpAt) throw new Error(`a run to measure by has not ended: ${JSON.stringify(run)}`);
    await delay(20);
  }
}

function optionsOf({ hasQueue }: Way, contents: string, env: Readonly<Record<string, string>>) {
  return {
    name: "layover",
    modules: [{ type: "ESModule" as const, path: "worker.mjs", contents }],
    compatibilityDate: "2026-08-01",
    cf: false as const,
    telemetry: { enabled: false },
    bindings: { LAYOVER_SECRET: secret, NAME: "layover", PUBLIC_URL: "https://layover.example", ...env },
    ...(hasQueue
      ? {
          queueProducers: { QUEUE: "layover" },
          queueConsumers: { layover: { maxBatchTimeout: 0, maxBatchSize: 10 } },
          durableObjects: { ALARM: { className: "LayoverAlarm", useSQLite: true } },
        }
      : { serviceBindings: { SELF: "layover" } }),
    handleStructuredLogs: () => {},
  };
}

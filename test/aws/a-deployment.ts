/** A deployment on AWS under test: the functions of functions.ts, on a database behind a Neon endpoint, and their world. */
import { onTestFinished } from "vitest";
import { authorized, secret } from "../platform/a-worker.ts";
import { openWorld, type World } from "../platform/world.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { AwsCloud, type CloudOptions } from "./cloud.ts";
import { type Synthesized, synthesize } from "./synth.ts";

let synthesized: Synthesized | undefined;

/** Synthesizes once for all tests of a file. */
export function theSynthesis(): Synthesized {
  synthesized ??= synthesize("test/aws/functions.ts");
  return synthesized;
}

export interface Deployment {
  readonly cloud: AwsCloud;
  readonly world: World;
  /** Where Neon's protocol is spoken, for a function of one's own. */
  readonly fetchEndpoint: string;
  /** The SQL functions that were called since the last time that a test asked. */
  statements(): readonly string[];
  start(workflow: string, input: unknown, options?: object): Promise<string>;
  get(runId: string): Promise<Readonly<Record<string, unknown>>>;
  post(path: string, body: unknown): Promise<Response>;
}

/** Deploys. Call it within a test. */
export async function deploy(database: TestDatabase, options: Partial<CloudOptions> = {}): Promise<Deployment> {
  const { template, code } = theSynthesis();
  const endpoint = await openNeonEndpoint(database.url);
  const world = await openWorld();
  const cloud = await AwsCloud.open({
    template,
    code,
    parameters: { "/orders/secret": secret, "/orders/database-url": endpoint.url },
    ...options,
    variables: { FETCH_ENDPOINT: endpoint.fetchEndpoint, ...options.variables },
  });
  onTestFinished(async () => {
    await cloud.close();
    await endpoint.close();
    world.close();
  });
  let seen = 0;
  const post = async (path: string, body: unknown) =>
    await fetch(`${cloud.url}${path}`, { method: "POST", headers: authorized, body: JSON.stringify(body) });
  return {
    cloud,
    world,
    fetchEndpoint: endpoint.fetchEndpoint,
    post,
    statements() {
      const { bodies } = endpoint;
      const sent = bodies.slice(seen).map((body) => /layover\.(\w+)/.exec(JSON.stringify(body))?.[1] ?? "");
      seen = bodies.length;
      return sent;
    },
    async start(workflow, input, started = {}) {
      const response = await post(`/v1/workflows/${workflow}/runs`, { version: 1, input, ...started });
      const { runId }: { runId?: string } = Object(await response.json());
      if (runId === undefined) throw new Error(`the start was answered ${response.status}: ${cloud.output.join("\n")}`);
      return runId;
    },
    async get(runId) {
      const response = await fetch(`${cloud.url}/v1/runs/${runId}`, { headers: authorized });
      return Object(await response.json());
    },
  };
}

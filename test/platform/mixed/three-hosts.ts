/**
 * Three hosts on one database: a Worker on the real workerd, the functions of a stack in Lambda's runtime, and a process of
 * Node's. Their Postgres is real, and so is the time. Call it within a test.
 */
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { neon } from "../../../src/postgres/neon.ts";
import { AwsCloud } from "../../aws/cloud.ts";
import { type Synthesized, synthesize } from "../../aws/synth.ts";
import { freePort } from "../../free-port.ts";
import type { TestDatabase } from "../../postgres/database.ts";
import { openNeonEndpoint } from "../../postgres/neon-endpoint.ts";
import { AWorker, authorized, bundled, secret } from "../a-worker.ts";
import { ServerProcess } from "../server-process.ts";
import { openWorld, type World } from "../world.ts";
import type { Host } from "./workflows.ts";

export interface ThreeHosts {
  readonly world: World;
  /** Where each host is reached. */
  readonly urls: Readonly<Record<Host, string>>;
  /** Starts a run by one of the hosts. Answers its id. */
  start(host: Host, workflow: string, input: unknown): Promise<string>;
  /** What one of the hosts shows of a run. */
  get(host: Host, runId: string): Promise<Readonly<Record<string, unknown>>>;
  /** The id of the only run of a workflow. */
  onlyRun(host: Host, workflow: string): Promise<string | undefined>;
  signal(host: Host, runId: string, name: string, payload: unknown): Promise<void>;
  /** Kills what a host has at work, as if its machines were lost, and lets it begin anew. */
  kill(host: Host): Promise<void>;
  /** What the hosts have written. */
  output(): string;
}

let synthesized: Synthesized | undefined;

export async function threeHosts(database: TestDatabase): Promise<ThreeHosts> {
  synthesized ??= synthesize("test/platform/mixed/functions.ts");
  const { template, code } = synthesized;
  const endpoint = await openNeonEndpoint(database.url);
  const { fetchEndpoint } = endpoint;
  const world = await openWorld();
  const worker = await AWorker.begin({
    script: await bundled("test/platform/mixed/worker.ts"),
    env: { DATABASE_URL: endpoint.url, FETCH_ENDPOINT: fetchEndpoint },
    bound: { queue: {}, alarm: {} },
    self: null,
  });
  const cloud = await AwsCloud.open({
    template,
    code,
    parameters: { "/orders/secret": secret, "/orders/database-url": endpoint.url },
    variables: { FETCH_ENDPOINT: fetchEndpoint },
  });
  const port = await freePort();
  const begin = async () => {
    const began = new ServerProcess(["--conditions=layover-source", "test/platform/mixed/node-process.ts"], {
      cwd: fileURLToPath(new URL("../../..", import.meta.url)),
      env: {
        DATABASE_URL: database.url,
        ENDPOINT: neon(endpoint.url, { fetchEndpoint }).endpoint,
        LAYOVER_SECRET: secret,
        PORT: String(port),
      },
    });
    await began.untilSaid(/listens on/);
    return began;
  };
  let node = await begin();
  onTestFinished(async () => {
    await node.kill();
    await cloud.close();
    await endpoint.close();
    world.close();
  });
  const urls = { cloudflare: worker.url, aws: cloud.url, node: `http://127.0.0.1:${port}` };
  const call = async (host: Host, method: string, path: string, value?: unknown) => {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const response = await fetch(`${urls[host]}${path}`, { method, headers: authorized, ...body });
    const answer: Readonly<Record<string, unknown>> = Object(await response.json());
    if (response.ok) return answer;
    throw new Error(`${method} ${path} on ${host} was answered ${response.status}: ${JSON.stringify(answer)}`);
  };
  // Each deployment notes itself in its first tick. That of Node has done so at its beginning.
  cloud.deployed();
  await worker.ring();
  return {
    world,
    urls,
    async start(host, workflow, input) {
      return String((await call(host, "POST", `/v1/workflows/${workflow}/runs`, { input, version: 1 }))["runId"]);
    },
    get: async (host, runId) => await call(host, "GET", `/v1/runs/${runId}`),
    async onlyRun(host, workflow) {
      const { runs }: { runs?: readonly { readonly runId: string }[] } = await call(
        host,
        "GET",
        `/v1/runs?workflow=${workflow}`,
      );
      return runs?.[0]?.runId;
    },
    signal: async (host, runId, name, payload) =>
      void (await call(host, "POST", `/v1/runs/${runId}/signals/${name}`, { payload })),
    async kill(host) {
      if (host === "cloudflare") {
        worker.kill();
        await worker.restart();
      } else if (host === "aws") for (const handler of ["turns", "tick", "forward"]) cloud.kill(handler);
      else {
        await node.kill();
        node = await begin();
      }
    },
    output: () => [...worker.logged, ...cloud.output, node.output].join("\n"),
  };
}

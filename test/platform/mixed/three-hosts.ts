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
import type { Clock } from "../../postgres/clock.ts";
import type { TestDatabase } from "../../postgres/database.ts";
import { answered, type Fate, openNeonEndpoint } from "../../postgres/neon-endpoint.ts";
import { AWorker, authorized, bundled, secret } from "../a-worker.ts";
import { ServerProcess } from "../server-process.ts";
import { openWorld, type World } from "../world.ts";
import { type CallFate, openDeadlyWire } from "./deadly-wire.ts";
import type { Host } from "./workflows.ts";

export interface ThreeHosts {
  readonly world: World;
  /** Where each host is reached. */
  readonly urls: Readonly<Record<Host, string>>;
  /** Starts a run by one of the hosts, also under an id of the user's own. Answers our id. */
  start(host: Host, workflow: string, input: unknown, id?: string): Promise<string>;
  /** What one of the hosts shows of a run. */
  get(host: Host, runId: string): Promise<Readonly<Record<string, unknown>>>;
  /** The id of the only run of a workflow. */
  onlyRun(host: Host, workflow: string): Promise<string | undefined>;
  /** `dedupeId`: a second signal with it is none. */
  signal(host: Host, runId: string, name: string, payload: unknown, dedupeId?: string): Promise<void>;
  /** Kills what a host has at work, as if its machines were lost, and lets it begin anew. */
  kill(host: Host): Promise<void>;
  /** Hosts that died at a call, and have not begun anew. */
  readonly dead: ReadonlySet<Host>;
  /** Lets all of them begin anew. */
  revive(): Promise<void>;
  /** Turns the clocks of the database and of the hosts. Alarms that are due then ring, but not those of Node's process. */
  turn(ms: number): Promise<void>;
  /** What the hosts have written. */
  output(): string;
}

export interface ThreeHostsOptions {
  /** Says what becomes of a host at its next call of the database. Default: nothing. */
  readonly fateOf?: (host: Host) => CallFate;
  /** The database's, which goes on and is turned. */
  readonly clock?: Clock;
}

let synthesized: Synthesized | undefined;

export async function threeHosts(database: TestDatabase, options: ThreeHostsOptions = {}): Promise<ThreeHosts> {
  const { fateOf = () => "passes", clock } = options;
  synthesized ??= synthesize("test/platform/mixed/functions.ts");
  const { template, code } = synthesized;
  const dead = new Set<Host>();
  let aheadMs = 0;
  const die = (host: Host) => {
    dead.add(host);
    if (host === "cloudflare") worker.kill();
    else if (host === "node") void node.kill();
    else for (const handler of ["http", "turns", "tick", "forward"]) cloud.kill(handler);
  };
  const fate = (host: Host): Fate => {
    return async (exchange) => {
      const what = fateOf(host);
      if (what === "passes") return await answered(exchange);
      if (what === "dies after") await exchange.carryOut();
      die(host);
      exchange.cut();
    };
  };
  const endpoints = {
    cloudflare: await openNeonEndpoint(database.url, fate("cloudflare")),
    aws: await openNeonEndpoint(database.url, fate("aws")),
  };
  const wire = await openDeadlyWire({
    databaseUrl: database.url,
    fateOf: () => fateOf("node"),
    die: () => die("node"),
  });
  const world = await openWorld();
  const worker = await AWorker.begin({
    script: await bundled("test/platform/mixed/worker.ts"),
    env: { DATABASE_URL: database.url, FETCH_ENDPOINT: endpoints.cloudflare.fetchEndpoint },
    bound: { queue: {}, alarm: {} },
    self: null,
  });
  const cloud = await AwsCloud.open({
    template,
    code,
    parameters: { "/orders/secret": secret, "/orders/database-url": database.url },
    variables: { FETCH_ENDPOINT: endpoints.aws.fetchEndpoint },
  });
  const port = await freePort();
  const begin = async () => {
    const began = new ServerProcess(["--conditions=layover-source", "test/platform/mixed/node-process.ts"], {
      cwd: fileURLToPath(new URL("../../..", import.meta.url)),
      env: {
        DATABASE_URL: wire.url,
        ENDPOINT: neon(database.url, { fetchEndpoint: endpoints.aws.fetchEndpoint }).endpoint,
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
    await endpoints.cloudflare.close();
    await endpoints.aws.close();
    wire.close();
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
  const revive = async () => {
    for (const host of dead) {
      if (host === "cloudflare") {
        await worker.restart();
        if (aheadMs > 0) await worker.turn(aheadMs);
      } else if (host === "node") {
        await node.kill();
        node = await begin();
      }
      dead.delete(host);
    }
  };
  /** When the schedules fire by the turned clock, as this machine's clock says it. */
  const left = new Map<string, number>();
  // Each deployment notes itself in its first tick. That of Node has done so at its beginning.
  cloud.deployed();
  await worker.ring();
  return {
    world,
    urls,
    async start(host, workflow, input, id) {
      return String((await call(host, "POST", `/v1/workflows/${workflow}/runs`, { input, version: 1, id }))["runId"]);
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
    signal: async (host, runId, name, payload, dedupeId) =>
      void (await call(host, "POST", `/v1/runs/${runId}/signals/${name}`, { payload, dedupeId })),
    async kill(host) {
      die(host);
      await revive();
    },
    dead,
    revive,
    async turn(ms) {
      aheadMs += ms;
      await clock?.advance(ms);
      if (!dead.has("cloudflare")) await worker.turn(aheadMs);
      for (const [name, { ScheduleExpression }] of cloud.schedules) {
        const leftMs = (left.get(name) ?? Date.parse(`${ScheduleExpression.slice(3, -1)}Z`)) - ms;
        left.set(name, leftMs);
        if (leftMs <= Date.now()) cloud.fire(name);
      }
    },
    output: () => [...worker.logged, ...cloud.output, node.output].join("\n"),
  };
}

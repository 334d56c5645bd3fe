/**
 * Runs that wait on three hosts at once, which share one database: a Worker on workerd, the functions of a stack, and a
 * server of Node's. Each host starts a third of the runs, and any of them may carry them on.
 */
import { Pool } from "pg";
import { serve } from "../../src/platform/node/index.ts";
import { neon } from "../../src/postgres/neon.ts";
import { pg } from "../../src/postgres/pg.ts";
import { AwsCloud } from "../aws/cloud.ts";
import { synthesize } from "../aws/synth.ts";
import { Deployment } from "../demo/deployment.ts";
import type { Reached } from "../demo/observing.ts";
import { freePort } from "../free-port.ts";
import { workerWithNode } from "../platform/wrangler-bundle.ts";
import { late } from "./late.ts";
import { latestMs } from "./on-aws.ts";
import type { Site, SiteOptions } from "./site.ts";
import { startOverHttp } from "./start-over-http.ts";
import { workflows } from "./workflows.ts";

export async function openMixed({ folder, settings }: SiteOptions): Promise<Site> {
  const reached: Record<Reached, number> = { cron: 0, queue: 0, dead: 0, object: 0, alarm: 0 };
  const script = workerWithNode("test/idle/worker.ts");
  const onReached = (what: Reached) => {
    reached[what] += 1;
  };
  const worker = await Deployment.prepare({ script, folder, settings, onReached });
  await worker.begin();
  const cloud = await cloudBeside(worker);
  const awake = Promise.withResolvers<void>();
  const node = await nodeBeside(worker, () => awake.resolve());
  cloud.deployed();

  const { key } = worker.secrets;
  const urls = [worker.url, cloud.url, node.url];
  let started = 0;
  return {
    databaseUrl: worker.databaseUrl,
    async start(workflow, input) {
      await startOverHttp(urls[started++ % urls.length] ?? "", key, workflow, input);
    },
    untilAwake: async (withinMs) =>
      void (await Promise.race([
        awake.promise,
        worker.untilSaid(/awake/, withinMs),
        untilWritten(cloud, /awake/),
        late(withinMs),
      ])),
    get counts() {
      const of = (name: string) => cloud.invoked.filter((each) => each.name === name).length;
      const { cron, object, alarm, queue, dead } = reached;
      return {
        "cron rang": cron,
        "object asked": object,
        "alarm rang": alarm,
        deliveries: queue + dead,
        ticks: of("tick"),
        turns: of("turns"),
        "Neon asked": worker.statements,
      };
    },
    earlyMs: 125_000,
    alarmsLateMs: latestMs,
    ring: async () => await worker.ring(),
    async end() {
      await node.end();
      await cloud.close();
      await worker.end();
    },
  };
}

async function cloudBeside({ secrets, neon: { url, fetchEndpoint } }: Deployment): Promise<AwsCloud> {
  const hook = new URL("../aws/neon-elsewhere.mjs", import.meta.url);
  return await AwsCloud.open({
    ...synthesize("test/idle/functions.ts", { parameterNames: ["shop-secret"] }),
    lateness: () => Math.random() * latestMs,
    parameters: { "/orders/secret": secrets.secret, "/orders/database-url": url },
    variables: { FETCH_ENDPOINT: fetchEndpoint, NODE_OPTIONS: `--enable-source-maps --import=${hook.href}` },
  });
}

async function nodeBeside(worker: Deployment, onAwake: () => void): Promise<{ url: string; end(): Promise<void> }> {
  const pool = new Pool({ connectionString: worker.databaseUrl });
  pool.on("error", () => {});
  const port = await freePort();
  const server = await serve({
    workflows,
    // All hosts call the database by one name.
    database: pg(pool, { endpoint: neon(worker.neon.url).endpoint }),
    secrets: [worker.secrets.secret],
    port,
    hostname: "127.0.0.1",
    publicUrl: `http://127.0.0.1:${port}`,
    onLog: ({ message }) => {
      if (message === "awake") onAwake();
    },
  });
  return {
    url: server.url,
    async end() {
      await server.close();
      await pool.end();
    },
  };
}

async function untilWritten(cloud: AwsCloud, pattern: RegExp): Promise<void> {
  while (!pattern.test(cloud.output.join("\n"))) await new Promise((resolve) => setTimeout(resolve, 20).unref());
}

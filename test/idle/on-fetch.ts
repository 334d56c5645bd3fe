/**
 * Runs that wait on a host that answers requests: `layover/fetch` with a pool of connections to its Postgres, and its alarm,
 * the Worker of functions/alarm.ts on workerd. Nothing else wakes the host.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { Pool } from "pg";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { serve } from "../../src/platform/fetch/index.ts";
import { close, listen, newServer } from "../../src/platform/node/listener.ts";
import { pg } from "../../src/postgres/pg.ts";
import { type Reached, readReached } from "../demo/observing.ts";
import { freePort } from "../free-port.ts";
import { workerWithNode } from "../platform/wrangler-bundle.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { late } from "./late.ts";
import type { Site, SiteOptions } from "./site.ts";
import { startOverHttp } from "./start-over-http.ts";
import { workflows } from "./workflows.ts";

const config = fileURLToPath(new URL("../../functions/alarm.toml", import.meta.url));

export async function openFetch({ folder, settings }: SiteOptions): Promise<Site> {
  const secret = randomBytes(32).toString("base64");
  const secrets = new Secrets([secret]);
  const key = createApiKey(secrets, { name: "me", namespace: "default", scopes });
  const alarmPort = await freePort();
  const appPort = await freePort();
  const appUrl = `http://127.0.0.1:${appPort}`;
  const postgres = await startPostgres({ version: 18, settings });
  const { url: databaseUrl } = await freshDatabase(postgres.url);
  const pool = new Pool({ connectionString: databaseUrl });
  pool.on("error", () => {});

  const reached = { cron: 0, object: 0, alarm: 0 };
  const alarm = alarmOn({
    port: alarmPort,
    folder,
    bindings: { APPS: { orders: appUrl }, ORDERS_KEY: secrets.keyFor("alarm") },
    onReached: (what) => {
      if (what === "cron" || what === "object" || what === "alarm") reached[what] += 1;
    },
  });
  await alarm.ready;

  const awake = Promise.withResolvers<void>();
  let requests = 0;
  const handler = serve({
    workflows,
    database: () => pg(pool),
    secrets: () => [secret],
    publicUrl: () => appUrl,
    alarm: () => `http://127.0.0.1:${alarmPort}/apps/orders`,
    waitUntil: () => {},
    onLog: ({ message }) => {
      if (message === "awake") awake.resolve();
    },
  });
  const server = newServer(async (request) => {
    requests += 1;
    return await handler(request);
  });
  await listen(server, appPort, "127.0.0.1");

  return {
    databaseUrl,
    start: async (workflow, input) => await startOverHttp(appUrl, key, workflow, input),
    untilAwake: async (withinMs) => await Promise.race([awake.promise, late(withinMs)]),
    get counts() {
      const { cron, object, alarm: rang } = reached;
      return { "cron rang": cron, "object asked": object, "alarm rang": rang, "host asked": requests };
    },
    ring: async () => await ring(alarmPort),
    async end() {
      await alarm.dispose();
      await close(server);
      await pool.end();
      await postgres.stop();
    },
  };
}

interface AlarmOptions {
  readonly port: number;
  readonly folder: string;
  readonly bindings: Readonly<Record<string, string | Record<string, string>>>;
  readonly onReached: (reached: Reached) => void;
}

/** The alarm as functions/alarm.toml deploys it. */
function alarmOn({ port, folder, bindings, onReached }: AlarmOptions): Miniflare {
  const { workerOptions } = unstable_getMiniflareWorkerOptions(config);
  return new Miniflare({
    ...workerOptions,
    name: unstable_readConfig({ config }).name ?? "",
    modules: [{ type: "ESModule", path: "alarm.mjs", contents: workerWithNode("test/idle/alarm.ts") }],
    compatibilityFlags: ["nodejs_compat"],
    bindings: { ...workerOptions["bindings"], ...bindings },
    port,
    durableObjectsPersist: join(folder, "objects"),
    cf: false,
    telemetry: { enabled: false },
    unsafeTriggerHandlers: true,
    handleStructuredLogs: ({ level, message }: { level: string; message: string }) => {
      const what = readReached(message);
      if (what !== undefined) onReached(what);
      else console.error(`${level}: ${message}`);
    },
  });
}

async function ring(port: number): Promise<void> {
  const cron = encodeURIComponent("* * * * *");
  const response = await fetch(`http://127.0.0.1:${port}/cdn-cgi/handler/scheduled?cron=${cron}`);
  const outcome = await response.text();
  if (outcome !== "ok") throw new Error(`the cron trigger of the alarm rang, and that ended with ${outcome}`);
}

/** What wrangler bundles, on the real workerd: bound as its wrangler.toml says, with Neon's endpoint played by ours. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Miniflare, type Request, Response } from "miniflare";
import { onTestFinished, vi } from "vitest";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { run } from "./run.ts";

export interface DeployedWorker {
  readonly url: string;
  /** Resolves when it has logged this. */
  readonly untilSaid: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** All that it has logged so far. */
  readonly said: () => string;
  /** Rings the cron trigger. Answers how that went. */
  readonly ring: () => Promise<string>;
}

export interface DeployOptions {
  /** Folder of the project, with its wrangler.toml. */
  readonly folder: string;
  readonly secrets: Readonly<Record<string, string>>;
  /** Address of the Postgres that plays Neon's. */
  readonly databaseUrl: string;
}

/** Environment that keeps wrangler from asking, from reporting, and from saying which files it reads. */
const quiet = {
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_LOG: "error",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

export async function deploy({ folder, secrets, databaseUrl }: DeployOptions): Promise<DeployedWorker> {
  await run("npx", ["wrangler", "deploy", "--dry-run", "--outdir", "bundle"], { cwd: folder, env: quiet });
  const neon = await openNeonEndpoint(databaseUrl);
  onTestFinished(async () => await neon.close());
  const neonUrl = new URL(databaseUrl);
  neonUrl.hostname = "db.neon.test";

  for (const [name, value] of Object.entries(quiet)) vi.stubEnv(name, value);
  const config = join(folder, "wrangler.toml");
  const { workerOptions } = unstable_getMiniflareWorkerOptions(config);
  const { name = "", vars } = unstable_readConfig({ config });
  let logged = "";
  const miniflare = new Miniflare({
    ...workerOptions,
    name,
    modules: [
      { type: "ESModule", path: "worker.js", contents: readFileSync(join(folder, "bundle", "worker.js"), "utf8") },
    ],
    bindings: { ...vars, ...secrets, DATABASE_URL: neonUrl.href }, // those of .dev.vars stay on this machine
    outboundService: async (request: Request) => {
      const headers = [...request.headers].filter(([name]) => name.startsWith("neon-"));
      const body = await request.text();
      const answer = await fetch(neon.fetchEndpoint, { method: "POST", headers, body });
      return new Response(await answer.text(), { status: answer.status });
    },
    cf: false,
    telemetry: { enabled: false },
    unsafeTriggerHandlers: true,
    handleStructuredLogs: ({ message }: { message: string }) => {
      logged += `${message}\n`;
    },
  });
  onTestFinished(async () => await miniflare.dispose());
  const url = (await miniflare.ready).origin;

  return {
    url,
    said: () => logged,
    untilSaid: async (pattern) =>
      await vi.waitFor(
        () => {
          const match = pattern.exec(logged);
          if (match === null) throw new Error(`the Worker has not said ${pattern}:\n${logged}`);
          return match;
        },
        { timeout: 20_000 },
      ),
    async ring() {
      const answer = await fetch(`${url}/cdn-cgi/handler/scheduled`);
      return await answer.text();
    },
  };
}

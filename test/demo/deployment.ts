/**
 * A deployment on Cloudflare, as much of it as this machine can be: a Worker on the real workerd, bound to a queue
 * with its dead letters and to Durable Objects on disk as wrangler.toml says, and a Postgres of its own behind Neon's
 * endpoint, which is ours. Only the cron trigger never rings by itself: {@link Deployment.ring}.
 */
import { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fetch as forward, Miniflare, type MiniflareOptions, type Request, type Response } from "miniflare";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import * as z from "zod";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { freePort } from "../free-port.ts";
import type { Answer } from "../platform/dev-server.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { type NeonEndpoint, openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { type PostgresServer, startPostgres } from "../postgres/server.ts";
import { type Reached, readReached } from "./observing.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A host name of Neon's, since the Worker knows of nothing else. The network leads it to our endpoint. */
const neonHost = "ep-quiet-river-a1b2c3.eu-central-1.aws.neon.tech";
const neonEndpoint = "https://api.eu-central-1.aws.neon.tech/sql";

/** Miniflare tells nobody which process is workerd, but Node tells of each that begins. */
const Begun = z.object({ process: z.instanceof(ChildProcess) });

export interface DeploymentOptions {
  /** The Worker, bundled with Node's modules (see wrangler-bundle.ts). */
  readonly script: string;
  /** Folder in which the Durable Objects' data are kept. */
  readonly folder: string;
  /** Variables beside those of wrangler.toml. With Node's modules a Worker has them in `process.env`, too. */
  readonly env?: Readonly<Record<string, string>>;
  /** Settings of Postgres, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called for each thing that reaches the Worker, if it is `observing`. */
  readonly onReached?: (reached: Reached) => void;
}

export class Deployment {
  readonly url: string;
  readonly #options: DeploymentOptions;
  readonly #secret = randomBytes(32).toString("base64");
  readonly #key = createApiKey(new Secrets([this.#secret]), { name: "me", namespace: "default", scopes });
  readonly #postgres: PostgresServer;
  readonly #neon: NeonEndpoint;
  #miniflare: Miniflare | undefined;
  #workerd: ChildProcess | undefined;
  #output = "";

  private constructor(
    options: DeploymentOptions,
    { port, postgres, neon }: { port: number; postgres: PostgresServer; neon: NeonEndpoint },
  ) {
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
    this.#postgres = postgres;
    this.#neon = neon;
  }

  /** Makes a deployment with a migrated database. No workerd runs yet. */
  static async prepare(options: DeploymentOptions): Promise<Deployment> {
    const postgres = await startPostgres({ version: 18, settings: options.settings ?? {} });
    const neon = await openNeonEndpoint((await freshDatabase(postgres.url)).url);
    return new Deployment(options, { port: await freePort(), postgres, neon });
  }

  /** Begins a workerd, the first one or the next one. It has what the Durable Objects had written, and nothing else. */
  async begin(): Promise<void> {
    const begun: ChildProcess[] = [];
    const watch = (message: unknown) => begun.push(Begun.parse(message).process);
    subscribe("child_process", watch);
    try {
      this.#miniflare = new Miniflare(this.#miniflareOptions());
      await this.#miniflare.ready;
    } finally {
      unsubscribe("child_process", watch);
    }
    this.#workerd = begun.find(({ spawnfile }) => spawnfile.includes("workerd"));
  }

  /** Kills workerd as if its machine was lost: nobody is told. Resolves when it is gone. */
  async kill(): Promise<void> {
    process.kill(this.pid, "SIGKILL");
    // In the same moment, since Miniflare begins another one as soon as it sees that this one is gone.
    await this.#miniflare?.dispose();
  }

  /** Ends workerd, Neon's endpoint and Postgres. */
  async end(): Promise<void> {
    await this.#miniflare?.dispose();
    await this.#neon.close();
    await this.#postgres.stop();
  }

  /** Process id of workerd. */
  get pid(): number {
    const pid = this.#workerd?.pid;
    if (pid === undefined) throw new Error("no workerd has begun");
    return pid;
  }

  /** All that the Worker has logged. */
  get output(): string {
    return this.#output;
  }

  /** Address of the Postgres, for SQL of one's own. */
  get databaseUrl(): string {
    return this.#neon.url;
  }

  /** The root secret and an API key that may do everything: for another host on the same database. */
  get secrets(): { readonly secret: string; readonly key: string } {
    return { secret: this.#secret, key: this.#key };
  }

  /** The address that the Worker has as DATABASE_URL, and the endpoint at which its statements arrive. */
  get neon(): { readonly url: string; readonly fetchEndpoint: string } {
    const url = new URL(this.#neon.url);
    url.host = neonHost;
    return { url: url.href, fetchEndpoint: this.#neon.fetchEndpoint };
  }

  /** How many statements have come to Neon's endpoint. */
  get statements(): number {
    return this.#neon.arrivals;
  }

  /** Resolves when the Worker has logged this. */
  async untilSaid(pattern: RegExp, withinMs = 15_000): Promise<RegExpExecArray> {
    const givenUpAt = Date.now() + withinMs;
    for (;;) {
      const match = pattern.exec(this.#output);
      if (match !== null) return match;
      if (Date.now() > givenUpAt) throw new Error(`the Worker has not said ${pattern} within ${withinMs / 1_000} s`);
      await delay(20);
    }
  }

  /** Calls the API. */
  async api(method: string, path: string, value?: unknown): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const response = await fetch(`${this.url}${path}`, { method, headers, ...body });
    return { status: response.status, body: await response.json() };
  }

  /** Rings the cron trigger. Resolves when the Worker is done with it. */
  async ring(): Promise<void> {
    const response = await fetch(`${this.url}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent("* * * * *")}`);
    const outcome = await response.text();
    if (outcome !== "ok") throw new Error(`the cron trigger rang, and that ended with ${outcome}`);
  }

  #miniflareOptions(): MiniflareOptions {
    const config = join(root, "wrangler.toml");
    const { versionMetadata, ...bound } = unstable_getMiniflareWorkerOptions(config).workerOptions;
    return {
      ...bound,
      name: unstable_readConfig({ config }).name ?? "",
      modules: [{ type: "ESModule", path: "worker.mjs", contents: this.#options.script }],
      compatibilityFlags: ["nodejs_compat"],
      bindings: {
        ...bound["bindings"],
        // Miniflare would take each workerd for a new deployment.
        ...(versionMetadata !== undefined && { [versionMetadata]: { id: "first" } }),
        DATABASE_URL: this.neon.url,
        LAYOVER_SECRET: this.#secret,
        PUBLIC_URL: this.url,
        ...this.#options.env,
      },
      port: Number(new URL(this.url).port),
      durableObjectsPersist: join(this.#options.folder, "objects"),
      cf: false,
      telemetry: { enabled: false },
      unsafeTriggerHandlers: true,
      outboundService: (request: Request) => this.#leave(request),
      handleStructuredLogs: ({ level, message }: { level: string; message: string }) => this.#hear(level, message),
    };
  }

  /** Answers what the Worker fetches: statements go to our endpoint, all else to the network. */
  async #leave(request: Request): Promise<Response> {
    const url = request.url === neonEndpoint ? this.#neon.fetchEndpoint : request.url;
    const { method, headers } = request;
    return await forward(url, { method, headers, body: await request.text() });
  }

  #hear(level: string, message: string): void {
    const reached = readReached(message);
    if (reached === undefined) this.#output += `${level}: ${message}\n`;
    else this.#options.onReached?.(reached);
  }
}

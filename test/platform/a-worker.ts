/** Workers on the real workerd, as Miniflare runs it: bundled as users' are, on a port of this machine. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import {
  Miniflare,
  type MiniflareOptions,
  type Request as OutboundRequest,
  type Response as OutboundResponse,
} from "miniflare";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { freePort } from "../free-port.ts";

export const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
export const secrets = new Secrets([secret]);
const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });
export const authorized = { authorization: `Bearer ${key}`, "content-type": "application/json" };

const root = fileURLToPath(new URL("../..", import.meta.url));

const scripts = new Map<string, Promise<string>>();

/**
 * Makes a Worker's script as wrangler makes it, without any of Node's modules. `entry` is a path from the root.
 * `source` is the condition by which the Worker finds layover's sources; without it, it gets `dist/`.
 */
export function bundled(
  entry: string,
  settings: Settings = {},
  source: readonly string[] = ["layover-source"],
): Promise<string> {
  const key = JSON.stringify([entry, settings, source]);
  const script = scripts.get(key) ?? bundle(entry, settings, source);
  scripts.set(key, script);
  return script;
}

async function bundle(entry: string, settings: Settings, source: readonly string[]): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: [...source, "workerd", "worker", "browser"],
    define: { settings: JSON.stringify(settings) },
  });
  return outputFiles[0]?.text ?? "";
}

/** What workers/neon.ts is served with, and the other one that is named. */
export interface Settings {
  readonly invocation?: { readonly maxSteps: number };
  readonly alarmShards?: number;
  /** Whether every error is logged. `serve` by itself folds equal ones. */
  readonly tellsEach?: true;
  /** Whether all values are encrypted, by a key of the test's. */
  readonly isEncrypted?: true;
  /** Where workers/traced.ts sends its traces. */
  readonly tracesUrl?: string;
  /** Which build mixed/worker.ts is of. */
  readonly build?: string;
  /** Where mixed/worker.ts tells of its requests. */
  readonly fatesUrl?: string;
  /** Where mixed/worker.ts reaches its database. */
  readonly fetchEndpoint?: string;
}

export interface WorkerOptions {
  readonly script: string;
  /** Variables of the Worker. An undefined one is left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * The Worker behind the binding SELF. Default: itself. Null: there is none. `carrier`: another one, of the same
   * script.
   */
  readonly self?: "carrier" | null;
  /** What else it is bound to. Default: nothing, so it asks itself and the cron trigger is its alarm. */
  readonly bound?: Bound;
  readonly usesNode?: boolean;
  /** Further compatibility flags. */
  readonly flags?: readonly string[];
  /** Answers what the Worker fetches, instead of the network. */
  readonly outboundService?: (request: OutboundRequest) => Promise<OutboundResponse>;
}

export interface Bound {
  /** QUEUE: a queue of miniflare's, which this Worker consumes as well as its dead letters. */
  readonly queue?: { readonly maxBatchSize?: number; readonly maxRetries?: number };
  /** ALARM: so many Durable Objects (default: 1), which are kept in this folder or not kept. */
  readonly alarm?: { readonly folder?: string; readonly shards?: number };
  /** HYPERDRIVE: leads to the Postgres at this address, by one of its own. */
  readonly hyperdrive?: string;
}

/** A message of a delivery that a test makes. */
export interface TestMessage {
  readonly body: unknown;
  readonly attempts?: number;
}

export class AWorker {
  /** Address of the Worker, whichever workerd is at work. It is its PUBLIC_URL, too. */
  readonly url: string;
  /** Prefix of all paths of its API. */
  prefix = "";
  readonly logged: string[] = [];
  #options: WorkerOptions;
  readonly #miniflare: Miniflare;

  private constructor(options: WorkerOptions, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
    this.#miniflare = new Miniflare(this.#miniflareOptions(options));
  }

  static async begin(options: WorkerOptions): Promise<AWorker> {
    for (let attempt = 1; ; attempt += 1) {
      const worker = new AWorker(options, await freePort());
      try {
        await worker.#miniflare.ready;
        onTestFinished(async () => await worker.#miniflare.dispose());
        return worker;
      } catch (error) {
        await worker.#miniflare.dispose().catch(() => {}); // rejects, as it never began
        // Between asking for a free port and taking it, somebody else may take it.
        if (attempt === 5 || Reflect.get(Object(error), "code") !== "ERR_ADDRESS_IN_USE") throw error;
      }
    }
  }

  /** Kills workerd as if its machine was lost: nobody is told. */
  kill(): void {
    const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
    const pids = stdout.split("\n").flatMap((line) => {
      const [, pid, parent, command = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
      return Number(parent) === process.pid && command.includes("workerd") ? [Number(pid)] : [];
    });
    const [pid, ...others] = pids;
    if (pid === undefined || others.length > 0) throw new Error(`there is not one workerd, but ${pids.length}`);
    process.kill(pid, "SIGKILL");
  }

  /** Begins another workerd in place of this one, or of one that was killed. */
  async restart(env: WorkerOptions["env"] = {}): Promise<void> {
    const options = { ...this.#options, env: { ...this.#options.env, ...env } };
    await this.#miniflare.setOptions(this.#miniflareOptions(options));
    await this.#miniflare.ready;
  }

  /** Deploys another script in place of the one that is there. */
  async replace(script: string): Promise<void> {
    this.#options = { ...this.#options, script };
    await this.restart();
  }

  #miniflareOptions({
    script,
    env,
    self,
    bound = {},
    usesNode = false,
    flags = [],
    outboundService,
  }: WorkerOptions): MiniflareOptions {
    const worker = (name: string, service: string | null) => ({
      name,
      modules: [{ type: "ESModule" as const, path: "worker.mjs", contents: script }],
      compatibilityDate: "2026-08-01",
      compatibilityFlags: [...(usesNode ? ["nodejs_compat"] : []), ...flags],
      bindings: definedOf({ LAYOVER_SECRET: secret, NAME: name, PUBLIC_URL: this.url, ...env }),
      serviceBindings: service === null ? {} : { SELF: service },
      ...(outboundService !== undefined && { outboundService }),
      ...(bound.queue !== undefined && {
        queueProducers: { QUEUE: "layover" },
        queueConsumers: {
          layover: { maxBatchTimeout: 0, maxBatchSize: 10, deadLetterQueue: "layover-dead", ...bound.queue },
          "layover-dead": { maxBatchTimeout: 0 },
        },
      }),
      ...(bound.hyperdrive !== undefined && { hyperdrives: { HYPERDRIVE: bound.hyperdrive } }),
      ...(bound.alarm !== undefined && {
        durableObjects: { ALARM: { className: "LayoverAlarm", useSQLite: true } },
      }),
    });
    const workers =
      self === "carrier"
        ? [worker("door", "carrier"), worker("carrier", "carrier")]
        : [worker("layover", self === null ? null : "layover")];
    return {
      port: Number(new URL(this.url).port),
      cf: false,
      telemetry: { enabled: false },
      unsafeTriggerHandlers: true,
      ...(bound.alarm?.folder !== undefined && { durableObjectsPersist: bound.alarm.folder }),
      handleStructuredLogs: ({ level, message }: { level: string; message: string }) => {
        this.logged.push(`${level}: ${message}`);
      },
      workers,
    };
  }

  /** Calls the API, over the wire. */
  async call(method: string, path: string, value?: unknown): Promise<{ status: number; body: unknown }> {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const response = await fetch(`${this.url}${this.prefix}${path}`, { method, headers: authorized, ...body });
    return { status: response.status, body: await response.json() };
  }

  /** Starts a run. Answers its id. */
  async start(workflow: string, input?: unknown, more: object = {}): Promise<string> {
    const { body } = await this.call("POST", `/v1/workflows/${workflow}/runs`, { input, ...more });
    return Started.parse(body).runId;
  }

  async run(runId: string): Promise<unknown> {
    return (await this.call("GET", `/v1/runs/${runId}`)).body;
  }

  /**
   * Sets how far its clock and that of its Durable Objects is ahead; what is due then rings at once. Another workerd
   * has the clock of this machine.
   */
  async turn(aheadMs: number): Promise<void> {
    await this.#toObjects(`turn?to=${aheadMs}&`);
  }

  /** Has the runtime drop the alarms of its Durable Objects, as it does after seven tries. */
  async dropAlarms(): Promise<void> {
    await this.#toObjects("drop?");
  }

  /** Evicts its Durable Objects. What they have in memory is gone. */
  async evictObjects(): Promise<void> {
    await this.#toObjects("evict?");
  }

  /**
   * Answers for each of its Durable Objects how many minutes it keeps, and how many of these are over: their tick has
   * not ended.
   */
  async minutes(): Promise<readonly (readonly [kept: number, over: number])[]> {
    return z.array(z.tuple([z.number(), z.number()])).parse(await this.#toObjects("minutes?"));
  }

  async #toObjects(what: string): Promise<unknown> {
    const shards = this.#options.bound?.alarm?.shards ?? 1;
    return await (await fetch(`${this.url}/${what}shards=${shards}`, { method: "POST" })).json();
  }

  /** Delivers messages as a queue of Cloudflare's does. Answers what the queue is told to do with each. */
  async deliver(messages: readonly TestMessage[], queue = "layover"): Promise<Delivered> {
    const worker = Consumer.parse(await this.#miniflare.getWorker());
    const timestamp = new Date();
    const batch = messages.map(({ body, attempts = 1 }, index) => ({ id: `${index}`, timestamp, body, attempts }));
    const { outcome, explicitAcks, retryMessages } = Outcome.parse(await worker.queue(queue, batch));
    const acked = explicitAcks.map(Number).toSorted();
    return { outcome, acked, retried: retryMessages.map(({ msgId, delaySeconds }) => [Number(msgId), delaySeconds]) };
  }

  /** Rings the cron trigger. Resolves when the Worker is done with it, and answers how it went. */
  async ring(): Promise<string> {
    const response = await fetch(`${this.url}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent("* * * * *")}`);
    return await response.text();
  }
}

/** What became of a delivery; messages by their place in it. */
interface Delivered {
  readonly outcome: string;
  readonly acked: readonly number[];
  readonly retried: readonly (readonly [message: number, delaySeconds: number | undefined])[];
}

const Consumer = z.custom<{ queue: (name: string, messages: readonly object[]) => Promise<unknown> }>(
  (worker) => typeof worker === "object" && worker !== null && "queue" in worker,
);
const Outcome = z.object({
  outcome: z.string(),
  explicitAcks: z.array(z.string()),
  retryMessages: z.array(z.object({ msgId: z.string(), delaySeconds: z.number().optional() })),
});
const Started = z.object({ runId: z.string() });

function definedOf(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

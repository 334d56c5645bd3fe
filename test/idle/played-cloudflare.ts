/**
 * A Worker as it is deployed, and Cloudflare around it: a queue that delivers in batches, a Durable Object that rings,
 * and a cron trigger each minute. All of it is in this process, on time that passes only when nothing else is left to
 * happen, so an hour takes a moment; Postgres alone is real. Nothing fails, comes late or comes twice: see
 * test/simulation.
 */
import type { Query } from "layover";
import { type AlarmNamespace, type CloudflareWorker, LayoverAlarm, type QueueProducer } from "layover/cloudflare";
import { pause } from "../../src/core/waits.ts";
import type { CloudflareOptions } from "../../src/platform/cloudflare/options.ts";
import type { QueueMessage } from "../../src/platform/cloudflare/queue/queue-dispatch.ts";
import { type Runtime, workerd } from "../../src/platform/cloudflare/runtime.ts";
import { workerOf } from "../../src/platform/cloudflare/serve.ts";
import { servedWorker } from "../../src/platform/cloudflare/served-worker.ts";
import { consumers } from "../platform/consumers.ts";
import type { Clock } from "../postgres/clock.ts";
import { PlayedTime } from "./played-time.ts";
import { RingingStorage } from "./ringing-storage.ts";
import { Tally } from "./tally.ts";

interface Env {
  readonly ALARM: AlarmNamespace;
  readonly DATABASE: Query;
  readonly QUEUE: QueueProducer;
}

export interface PlayedOptions extends Pick<CloudflareOptions<Env>, "workflows" | "schedules" | "onLog" | "onError"> {
  readonly query: Query;
  /** Clock of the same database, which is set to the clock that is played. */
  readonly clock: Clock;
}

/** How many messages one `sendBatch` takes at most: https://developers.cloudflare.com/queues/platform/limits/ */
const mostSent = 100;
/** How many deliveries are at work at the same time at most. Cloudflare has up to 250. */
const mostAtWork = 20;
/** How long a message is under way. */
const hopMs = 100;
const minuteMs = 60_000;

export class PlayedCloudflare {
  /** Errors of work that rejected, and one for each message that was to come again. */
  readonly errors: unknown[] = [];
  readonly #env: Env;
  readonly #worker: CloudflareWorker<Env>;
  readonly #time: PlayedTime;
  readonly #storage: RingingStorage;
  readonly #object: LayoverAlarm;
  #tally = new Tally();
  #waiting: QueueMessage[] = [];
  #atWork = 0;

  constructor(options: PlayedOptions) {
    const { workflows, schedules, onLog, onError, query, clock } = options;
    this.#time = new PlayedTime({ query, clock, onStatement: (name) => this.#tally.statements.push(name) });
    this.#env = {
      ALARM: { getByName: () => ({ fetch: (url, init) => this.#ask(new Request(url, init)) }) },
      DATABASE: this.#time.query,
      QUEUE: { sendBatch: async (messages: Iterable<QueueMessage>) => this.#send([...messages]) },
    };
    const runtime: Runtime = {
      host: this.#time.host,
      script: new Set(),
      engine: { ...workerd.engine, atRest: () => pause(this.#time.host, 0) },
    };
    const worker = servedWorker<Env>(
      {
        workflows,
        schedules,
        onLog,
        onError,
        database: (env) => env.DATABASE,
        publicUrl: () => "https://example.com",
        secrets: () => ["bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g"],
        queue: (env) => env.QUEUE,
        alarm: (env) => env.ALARM,
      },
      runtime,
    );
    this.#worker = workerOf(worker);
    this.#storage = new RingingStorage(this.#time.host, () => this.#ring());
    this.#object = new LayoverAlarm({ storage: this.#storage }, this.#env, runtime);
    this.#untilNextTrigger();
  }

  /** Lets everything happen that happens until this instant. */
  async passUntil(instant: number): Promise<void> {
    await this.#time.passUntil(instant);
  }

  /** The instant by the clock that is played. */
  now(): number {
    return this.#time.now();
  }

  /** Answers what has happened since the last call. */
  takeTally(): Tally {
    const tally = this.#tally;
    tally.writes = this.#storage.writes;
    this.#storage.writes = 0;
    this.#tally = new Tally();
    return tally;
  }

  #begin(work: Promise<void>): void {
    work.catch((error: unknown) => this.errors.push(error));
  }

  async #ask(request: Request): Promise<Response> {
    this.#tally.asked += 1;
    return await this.#time.during(() => this.#object.fetch(request));
  }

  #ring(): void {
    this.#tally.ringsAt.push(this.now());
    this.#begin(this.#object.alarm());
  }

  #untilNextTrigger(): void {
    this.#time.host.after(minuteMs - (this.now() % minuteMs), () => {
      this.#tally.cronRings += 1;
      this.#begin(this.#worker.scheduled({ scheduledTime: this.now(), cron: "* * * * *" }, this.#env));
      this.#untilNextTrigger();
    });
  }

  #send(messages: readonly QueueMessage[]): void {
    if (messages.length > mostSent) throw new Error(`${messages.length} messages are more than a queue takes at once`);
    this.#tally.messages += messages.length;
    for (const [delaySeconds, some] of Map.groupBy(messages, (message) => message.delaySeconds ?? 0)) {
      this.#time.host.after(hopMs + delaySeconds * 1_000, () => {
        this.#waiting.push(...some);
        this.#deliver();
      });
    }
  }

  #deliver(): void {
    while (this.#atWork < mostAtWork && this.#waiting.length > 0) {
      const messages = this.#waiting.splice(0, consumers.turns.batchSize).map(({ body }) => ({
        body,
        attempts: 1,
        ack: () => {},
        retry: () => void this.errors.push(new Error("a message is to come again")),
      }));
      this.#tally.deliveries += 1;
      this.#atWork += 1;
      const delivery = this.#worker.queue({ queue: consumers.turns.queue, messages }, this.#env).finally(() => {
        this.#atWork -= 1;
        this.#deliver();
      });
      this.#begin(delivery);
    }
  }
}

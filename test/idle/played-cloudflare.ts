/**
 * A Worker as it is deployed, and Cloudflare around it: a queue that delivers in batches, a Durable Object that rings,
 * and a cron trigger each minute. All of it is in this process, on time that passes only when nothing else is left to
 * happen, so an hour takes a moment; Postgres alone is real. Nothing fails, comes late or comes twice: see
 * test/simulation.
 */
import type { Query } from "layover";
import { type AlarmNamespace, type CloudflareWorker, LayoverAlarm, type QueueProducer } from "layover/cloudflare";
import { vi } from "vitest";
import { pause } from "../../src/core/waits.ts";
import type { QueueMessage } from "../../src/platform/cloudflare/queue/queue-dispatch.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { PlayedObject } from "../platform/minute-storage.ts";
import type { Clock } from "../postgres/clock.ts";
import { Tally } from "./tally.ts";

export interface PlayedEnv {
  readonly ALARM: AlarmNamespace;
  readonly DATABASE: Query;
  readonly QUEUE: QueueProducer;
}

export interface PlayedOptions {
  readonly worker: CloudflareWorker<PlayedEnv>;
  readonly query: Query;
  /** Clock of the same database, which is set to this process' clock. */
  readonly clock: Clock;
}

/** How many messages one `sendBatch` takes at most: https://developers.cloudflare.com/queues/platform/limits/ */
const mostSent = 100;
/** How many messages a delivery has at most, as in wrangler.toml. */
const batch = 10;
/** How many deliveries are at work at the same time at most. Cloudflare has up to 250. */
const consumers = 20;
/** How long a message is under way. */
const hopMs = 100;
/** How long an answer of the database is under way. */
const statementMs = 20;
const minuteMs = 60_000;
/** Instant at which the clock begins: amid a minute. */
const beginning = Date.UTC(2026, 0, 1, 12, 0, 7);

export class PlayedCloudflare {
  /** Errors of work that rejected, and one for each message that was to come again. */
  readonly errors: unknown[] = [];
  readonly #options: PlayedOptions;
  readonly #env: PlayedEnv;
  readonly #storage: RingingStorage;
  readonly #object: LayoverAlarm;
  #tally = new Tally();
  #waiting: QueueMessage[] = [];
  #atWork = 0;
  /** How many calls are under way whose answer no timer brings. */
  #underWay = 0;
  #turned: { readonly to: number; readonly isDone: Promise<void> } | undefined;

  /** Takes this process' clock over, until the {@link end}. */
  static begin(options: PlayedOptions): PlayedCloudflare {
    vi.useFakeTimers({ now: beginning, toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
    return new PlayedCloudflare(options);
  }

  private constructor(options: PlayedOptions) {
    this.#options = options;
    const query = (...call: Parameters<Query>) => this.#query(...call);
    this.#env = {
      ALARM: { getByName: () => ({ fetch: (url, init) => this.#ask(new Request(url, init)) }) },
      DATABASE: Object.assign(query, { endpoint: options.query.endpoint }),
      QUEUE: { sendBatch: async (messages) => this.#send([...messages]) },
    };
    this.#storage = new RingingStorage(() => this.#ring());
    this.#object = new LayoverAlarm({ storage: this.#storage }, this.#env);
    this.#untilNextTrigger();
  }

  /** Lets everything happen that happens until this instant. */
  async passUntil(instant: number): Promise<void> {
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    }, instant - Date.now());
    for (;;) {
      await this.#rest();
      if (isOver) return;
      vi.advanceTimersToNextTimer();
    }
  }

  /** Answers what has happened since the last call. */
  takeTally(): Tally {
    const tally = this.#tally;
    tally.writes = this.#storage.writes;
    this.#storage.writes = 0;
    this.#tally = new Tally();
    return tally;
  }

  end(): void {
    vi.useRealTimers();
  }

  /** Resolves when everybody waits for a timer, or for nothing. */
  async #rest(): Promise<void> {
    for (let rounds = 0; rounds < 3; rounds = this.#underWay === 0 ? rounds + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve));
  }

  #begin(work: Promise<void>): void {
    work.catch((error: unknown) => this.errors.push(error));
  }

  async #query(...call: Parameters<Query>): ReturnType<Query> {
    const [text] = call;
    this.#tally.statements.push(/layover\.(\w+)/.exec(text)?.[1] ?? text);
    this.#underWay += 1;
    try {
      await this.#turnClock();
      return await this.#options.query(...call);
    } finally {
      const answered = pause(hostClock, statementMs);
      this.#underWay -= 1;
      await answered;
    }
  }

  async #turnClock(): Promise<void> {
    const to = Date.now();
    if (this.#turned?.to !== to) this.#turned = { to, isDone: this.#options.clock.set(to) };
    await this.#turned.isDone;
  }

  async #ask(request: Request): Promise<Response> {
    this.#tally.asked += 1;
    this.#underWay += 1;
    try {
      return await this.#object.fetch(request);
    } finally {
      this.#underWay -= 1;
    }
  }

  #ring(): void {
    this.#tally.ringsAt.push(Date.now());
    this.#begin(this.#object.alarm());
  }

  #untilNextTrigger(): void {
    setTimeout(
      () => {
        this.#tally.cronRings += 1;
        this.#begin(this.#options.worker.scheduled({ scheduledTime: Date.now(), cron: "* * * * *" }, this.#env));
        this.#untilNextTrigger();
      },
      minuteMs - (Date.now() % minuteMs),
    );
  }

  #send(messages: readonly QueueMessage[]): void {
    if (messages.length > mostSent) throw new Error(`${messages.length} messages are more than a queue takes at once`);
    this.#tally.messages += messages.length;
    for (const [delaySeconds, some] of Map.groupBy(messages, (message) => message.delaySeconds ?? 0)) {
      setTimeout(
        () => {
          this.#waiting.push(...some);
          this.#deliver();
        },
        hopMs + delaySeconds * 1_000,
      );
    }
  }

  #deliver(): void {
    while (this.#atWork < consumers && this.#waiting.length > 0) {
      const messages = this.#waiting.splice(0, batch).map(({ body }) => ({
        body,
        attempts: 1,
        ack: () => {},
        retry: () => void this.errors.push(new Error("a message is to come again")),
      }));
      this.#tally.deliveries += 1;
      this.#atWork += 1;
      const delivery = this.#options.worker.queue({ queue: "layover", messages }, this.#env).finally(() => {
        this.#atWork -= 1;
        this.#deliver();
      });
      this.#begin(delivery);
    }
  }
}

/** An object's storage whose alarm rings by this process' clock. */
class RingingStorage extends PlayedObject {
  readonly #ring: () => void;
  #cancel = () => {};

  constructor(ring: () => void) {
    super();
    this.#ring = ring;
  }

  override async setAlarm(at: number): Promise<void> {
    await super.setAlarm(at);
    this.#cancel();
    this.#cancel = hostClock.after(at - Date.now(), () => {
      this.alarmAt = null;
      this.#ring();
    });
  }
}

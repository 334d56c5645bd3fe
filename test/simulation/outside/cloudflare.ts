/**
 * Cloudflare, by its rules, around the Worker that `serve` makes: a queue that loses nothing, but delivers late, twice
 * and in any order, or refuses for hours; Durable Objects; a cron trigger; isolates that die. What layover does with all
 * that is its own code (see isolate.ts).
 */
import { minuteMs, minuteRingsAt, sweepMs } from "../../../src/core/waking.ts";
import type { AlarmMessage } from "../../../src/platform/cloudflare/alarm/minutes.ts";
import type { QueueMessage } from "../../../src/platform/cloudflare/queue/queue-dispatch.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { describeTurn } from "../../engine/process.ts";
import { type Consumer, consumers } from "../../platform/consumers.ts";
import { AlarmObject } from "./alarm-object.ts";
import { Isolate } from "./isolate.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

interface Message extends Pick<QueueMessage, "body"> {
  /** The queue that it waits in. */
  readonly consumer: Consumer;
  readonly at: number;
  readonly attempts: number;
}

/**
 * How many messages in a hundred come twice. A queue delivers at least once, and in any order:
 * https://developers.cloudflare.com/queues/reference/delivery-guarantees/
 */
const percentTwice = 5;
const percentLate = 10;
const latestMs = 60_000;
const mostShards = 3;
/**
 * How much too early an object may ring, in milliseconds. Its clock may be ahead of the sender's by less than news of
 * the time may travel, and nobody makes up for that. Its tick arms what comes next.
 */
const mostAheadMs = 2_000;

export class Cloudflare implements Outside {
  readonly isExact = true;
  /**
   * Two clocks that are off each round up to a minute of their own, and give 2 s. And what a process believes to be the
   * database's time is late by how long its last answer was under way, up to the 30 s that a COMMIT may take.
   */
  readonly graceMs = 36_000;
  refusedAt: number | undefined;
  readonly #ground: Ground;
  readonly #objects: readonly AlarmObject[];
  #isolates: Isolate[] = [];
  /** Work that is under way: what becomes of it when its isolate dies, and which isolate that is. */
  readonly #underWay = new Map<() => void, Isolate>();
  readonly #taken = new Map<string, number>();
  #messages: Message[] = [];
  #cronAt = Number.NEGATIVE_INFINITY;
  #isCronTwice = false;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#objects = Array.from({ length: 1 + ground.below(mostShards) }, () => new AlarmObject(ground));
  }

  readonly beget = (plan: Plan): Isolate => {
    const isolate = new Isolate(plan, {
      bindingsOf: (asking) => ({
        QUEUE: { sendBatch: (messages: Iterable<QueueMessage>) => this.#take([...messages], asking) },
        ALARM: {
          getByName: (name) => ({
            fetch: (url, init) => this.#fetch(Number(name.replace("layover-", "")), url, init, asking),
          }),
        },
      }),
      alarmShards: this.#objects.length,
      onTicked: () => this.#ground.hasTicked(plan.deployment?.id ?? ""),
    });
    this.#isolates.push(isolate);
    return isolate;
  };

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    const isolate = this.#isolates[this.#ground.below(Math.max(1, this.#isolates.length))];
    if (isolate === undefined) return [];
    return [
      ...this.#objects
        .filter(({ alarmAt }) => alarmAt !== undefined && alarmAt <= now)
        .map((object) => ({
          what: () => `the alarm of Durable Object ${this.#objects.indexOf(object)} rings, to ${isolate.name}`,
          act: () => this.#ring(object, isolate),
        })),
      ...(this.#isCronTwice || (this.#nextCron() ?? Number.POSITIVE_INFINITY) <= now
        ? [{ what: () => `the cron trigger rings, to ${isolate.name}`, act: () => this.#trigger(isolate) }]
        : []),
      ...this.#messages
        .filter(({ at }) => at <= now)
        .map((message) => ({
          what: () =>
            `${message.consumer.queue} delivers ${describeTurn(message.body)} of ${message.body.runId}, and what else is there, to ${isolate.name}`,
          act: () => this.#deliver(message, isolate),
        })),
    ];
  }

  next(): number | undefined {
    const now = this.#ground.now();
    const at = earliest([
      ...this.#objects.map(({ alarmAt }) => alarmAt),
      this.#nextCron(),
      ...this.#messages.flatMap((message) => (message.at > now ? [message.at] : [])),
    ]);
    return at === undefined ? undefined : this.#ground.timeOf(Math.max(at, now));
  }

  /**
   * Answers the alarms that stand. A minute stays until its tick has ended well, and the cron finds those whose alarm
   * was dropped.
   */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    const rings = this.#minutes.map(({ at, readyUntil }) => ({
      at: at + mostAheadMs,
      ringsAt: at,
      isRinging: at <= now,
      readyUntil,
    }));
    return this.#isNew ? [...rings, { at: now, ringsAt: now, isRinging: true, isUnarmed: true }] : rings;
  }

  lose(process: Mortal): void {
    this.#isolates = this.#isolates.filter((isolate) => isolate !== process);
    for (const [lost, owner] of [...this.#underWay]) {
      if (owner !== process) continue;
      this.#underWay.delete(lost);
      lost();
    }
  }

  taken(runId: string): number {
    return this.#taken.get(runId) ?? 0;
  }

  deployed(): void {} // the cron asks the Durable Object, which does not know the deployment

  async #take(messages: readonly QueueMessage[], isolate: Isolate): Promise<void> {
    await isolate.ask("dispatch", messages.map(({ body }) => describeTurn(body)).join(), async () => {
      if (this.#isRefusing) {
        this.refusedAt = this.#ground.now();
        throw new Error("the queue takes nothing");
      }
      for (const { body, delaySeconds = 0 } of messages) this.#send(body, delaySeconds * 1_000);
    });
  }

  #send(body: QueueMessage["body"], delayMs: number): void {
    const { below, now } = this.#ground;
    this.#taken.set(body.runId, this.taken(body.runId) + 1);
    const at = now() + delayMs + (below(100) < percentLate ? below(latestMs) : 0);
    const message = { body, at, attempts: 1, consumer: consumers.turns };
    this.#messages.push(message);
    if (below(100) < percentTwice) this.#messages.push({ ...message, at: at + below(latestMs) });
  }

  /** A request to a Durable Object. It fails when whoever asks waits no longer. */
  async #fetch(shard: number, url: string, init: RequestInit, isolate: Isolate): Promise<Response> {
    const object = this.#objects[shard];
    if (object === undefined) throw new Error(`nobody looks after the Durable Object ${shard}`);
    const { method, body, signal } = init;
    const request = () => new Request(url, { method: method ?? "GET", body: body ?? null });
    const answer = isolate.ask("alarm", describeMessage(JSON.parse(String(body))), () =>
      object.fetch((...its) => isolate.object(...its), request()),
    );
    return await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      answer.then(resolve, reject);
    });
  }

  #deliver(first: Message, isolate: Isolate): void {
    const now = this.#ground.now();
    const { consumer } = first;
    const others = this.#messages.filter((other) => other !== first && other.at <= now && other.consumer === consumer);
    const delivered = [first, ...others.slice(0, consumer.batchSize - 1)];
    this.#messages = this.#messages.filter((message) => !delivered.includes(message));
    /** When a message comes again; undefined: it is acknowledged. The first word counts, and silence is a yes. */
    const fates = new Map<Message, number | undefined>();
    const decide = (message: Message, fate?: number) => void (fates.has(message) || fates.set(message, fate));
    const messages = delivered.map((message) => ({
      body: message.body,
      attempts: message.attempts,
      ack: () => decide(message),
      retry: ({ delaySeconds = 0 } = {}) => decide(message, delaySeconds * 1_000),
    }));
    const cutOff = () => {
      for (const message of delivered) this.#again(message, 0); // as a whole, whatever was acknowledged
    };
    this.#underWay.set(cutOff, isolate);
    void isolate.deliver({ queue: consumer.queue, messages }).then(() => {
      if (!this.#underWay.delete(cutOff)) return;
      for (const [message, delayMs] of fates) if (delayMs !== undefined) this.#again(message, delayMs);
    });
  }

  /** Delivers a message again. One that has come too often becomes a dead letter, and then is gone. */
  #again({ body, consumer, attempts }: Message, delayMs: number): void {
    const at = this.#ground.now() + delayMs;
    if (attempts <= consumer.maxRetries) this.#messages.push({ body, at, attempts: attempts + 1, consumer });
    else if (consumer === consumers.turns) this.#messages.push({ body, at, attempts: 1, consumer: consumers.dead });
  }

  #ring(object: AlarmObject, isolate: Isolate): void {
    const { cutOff, hasEnded } = object.ring((...its) => isolate.object(...its));
    this.#underWay.set(cutOff, isolate);
    void hasEnded.then(() => this.#underWay.delete(cutOff));
  }

  #trigger(isolate: Isolate): void {
    const { now, below } = this.#ground;
    this.#isCronTwice = !this.#isCronTwice && below(20) === 0;
    this.#cronAt = Math.floor(now() / minuteMs) * minuteMs;
    if (below(20) > 0) isolate.trigger(this.#cronAt).catch(() => {}); // else nobody came
  }

  get #isRefusing(): boolean {
    const { refusal, timeOf, now } = this.#ground;
    const at = timeOf(now());
    return refusal !== undefined && at >= refusal.fromMs && at < refusal.untilMs;
  }

  /** When each minute rings that is kept. */
  get #minutes() {
    return this.#objects.flatMap(({ minutes }) => minutes);
  }

  /** Whether some object has noted no tick of the live deployment yet. */
  get #isNew(): boolean {
    return this.#objects.some((object) => !object.knows(this.#ground.deployment()));
  }

  /** Answers when the cron trigger next finds something to do. What it asks in vain is left out. */
  #nextCron(): number | undefined {
    const { now, dueAt } = this.#ground;
    const soonest = this.#cronAt + minuteMs;
    if (this.#isNew) return Math.max(soonest, now());
    const first = earliest(this.#minutes.map(({ at }) => at));
    if (first !== undefined) return Math.max(soonest, Math.ceil((first + minuteMs) / minuteMs) * minuteMs);
    const due = dueAt();
    return due === undefined ? undefined : Math.max(soonest, due + sweepMs);
  }
}

function describeMessage(message: AlarmMessage): string {
  if (!("arm" in message)) return "note" in message ? "a note" : "a look";
  const times = message.arm.map((minute) => new Date(minuteRingsAt(minute)).toISOString().slice(11, 19));
  return `minutes ${times.join(", ")}`;
}

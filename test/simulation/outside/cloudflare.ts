/**
 * Cloudflare, by its rules, around layover's real code for it: what is dispatched goes through QueueDispatch, a
 * delivery through deliver, an armed instant through AlarmShards into Minutes of a Durable Object, and a cron trigger
 * through watch.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { TurnRef } from "../../../src/core/ports.ts";
import { within } from "../../../src/core/waits.ts";
import { minuteRingsAt } from "../../../src/core/waking.ts";
import { makeDueAgain } from "../../../src/engine/scheduler/due-again.ts";
import { AlarmShards } from "../../../src/platform/cloudflare/alarm/alarm-shards.ts";
import type { AlarmMessage } from "../../../src/platform/cloudflare/alarm/minutes.ts";
import { watch } from "../../../src/platform/cloudflare/alarm/watch.ts";
import { deliver } from "../../../src/platform/cloudflare/queue/queue-delivery.ts";
import { QueueDispatch, type QueueMessage } from "../../../src/platform/cloudflare/queue/queue-dispatch.ts";
import type { Move } from "../../../src/postgres/wire-scheduler.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { describeTurn, type Process } from "../../engine/process.ts";
import { AlarmObject } from "./alarm-object.ts";
import type { Ground, Outside } from "./outside.ts";

interface Message {
  readonly body: TurnRef;
  readonly at: number;
  readonly attempts: number;
}

/** What a process has of this platform. */
interface Isolate {
  readonly shards: AlarmShards;
  /** Makes a dispatcher for one visit. What becomes ready within a delivery may be carried out there. */
  readonly dispatcher: (steps: number, onRefused?: (turns: readonly TurnRef[]) => void) => QueueDispatch;
}

const minuteMs = 60_000;
const sweepMs = 6 * 3_600_000;
/**
 * Messages of a delivery at most, as wrangler.toml has it for a consumer:
 * https://developers.cloudflare.com/queues/configuration/configure-queues/
 */
const batch = 10;
const mostAttempts = 10;
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
/** When the queue begins to refuse at the latest, in milliseconds. It does so once, in one world of four. */
const refusesWithinMs = 600_000;
const longestRefusalMs = 2 * 3_600_000;
const stepsHere = 10;
/** How long a request waits for an object, in milliseconds, as in askAlarm. */
const askMs = 4_000;

export class Cloudflare implements Outside {
  readonly isExact = true;
  /**
   * Two clocks that are off each round up to a minute of their own, and give 2 s. And what a process believes to be the
   * database's time is late by how long its last answer was under way, up to the 30 s that a COMMIT may take.
   */
  readonly graceMs = 36_000;
  refusedAt: number | undefined;
  readonly #ground: Ground;
  readonly #refusesFrom: number;
  readonly #refusesUntil: number;
  readonly #objects: readonly AlarmObject[];
  readonly #isolates = new WeakMap<object, Isolate>();
  readonly #visiting = new AsyncLocalStorage<QueueDispatch>();
  /** Work that is under way: what becomes of it when its process dies, and which process that is. */
  readonly #underWay = new Map<() => void, Process>();
  #messages: Message[] = [];
  #cronAt = Number.NEGATIVE_INFINITY;
  #isCronTwice = false;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#refusesFrom = ground.below(refusesWithinMs);
    this.#refusesUntil = ground.below(4) === 0 ? this.#refusesFrom + ground.below(longestRefusalMs) : 0;
    this.#objects = Array.from({ length: 1 + ground.below(mostShards) }, () => new AlarmObject(ground));
  }

  readonly ports: Outside["ports"] = ({ timers, ask, carryOut }) => {
    const queue = {
      sendBatch: (messages: Iterable<QueueMessage>) => {
        const sent = [...messages];
        return ask("dispatch", sent.map(({ body }) => describeTurn(body)).join(), async () => {
          if (this.#isRefusing) {
            this.refusedAt = this.#ground.now();
            throw new Error("the queue takes nothing");
          }
          this.#send(sent);
        });
      },
    };
    const dispatcher = (steps: number, onRefused?: (turns: readonly TurnRef[]) => void) =>
      new QueueDispatch({
        queue,
        onRefused,
        here: { carryOut: (turns) => carryOut(turns), steps, isOpen: () => true },
        host: timers,
        onError: () => {},
      });
    const shards = new AlarmShards({
      ask: (shard, message) => {
        const object = this.#objects[shard];
        const answer = ask("alarm", describeMessage(message), async () => (await object?.answer(message)) ?? null);
        return within(timers, askMs, answer, () => new Error("the Durable Object does not answer"));
      },
      shards: this.#objects.length,
      armed: new Set(),
      host: {
        now: () => this.#ground.now() - this.#ground.timeOf(this.#ground.now()) + timers.monotonic(),
        monotonic: () => timers.monotonic(),
        after: (ms, act) => timers.after(ms, act),
      },
    });
    const ownDispatcher = dispatcher(0);
    this.#isolates.set(timers, { shards, dispatcher });
    return {
      dispatch: (turns, delayMs) => (this.#visiting.getStore() ?? ownDispatcher).dispatch(turns, delayMs),
      alarm: shards.alarm,
    };
  };

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    const processes = this.#ground.processes();
    const process = processes[this.#ground.below(Math.max(1, processes.length))];
    if (process === undefined) return [];
    return [
      ...this.#objects
        .filter(({ alarmAt }) => alarmAt !== undefined && alarmAt <= now)
        .map((object) => ({
          what: () => `the alarm of Durable Object ${this.#objects.indexOf(object)} rings, to ${process.name}`,
          act: () => this.#ring(object, process),
        })),
      ...(this.#isCronTwice || (this.#nextCron() ?? Number.POSITIVE_INFINITY) <= now
        ? [{ what: () => `the cron trigger rings, to ${process.name}`, act: () => this.#trigger(process) }]
        : []),
      ...this.#messages
        .filter(({ at }) => at <= now)
        .map((message) => ({
          what: () =>
            `the queue delivers ${describeTurn(message.body)} of ${message.body.runId}, and what else is there, to ${process.name}`,
          act: () => this.#deliver(message, process),
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
    const rings = this.#minutes.map((at) => ({ at: at + mostAheadMs, ringsAt: at, isRinging: at <= now }));
    return this.#isNew ? [...rings, { at: now, ringsAt: now, isRinging: true, isUnarmed: true }] : rings;
  }

  lose(process: Process): void {
    for (const [lost, owner] of [...this.#underWay]) {
      if (owner !== process) continue;
      this.#underWay.delete(lost);
      lost();
    }
  }

  deployed(): void {} // the cron asks the Durable Object, which does not know the deployment

  #send(messages: readonly QueueMessage[]): void {
    const { below, now } = this.#ground;
    for (const { body, delaySeconds = 0 } of messages) {
      const at = now() + delaySeconds * 1_000 + (below(100) < percentLate ? below(latestMs) : 0);
      this.#messages.push({ body, at, attempts: 1 });
      if (below(100) < percentTwice) this.#messages.push({ body, at: at + below(latestMs), attempts: 1 });
    }
  }

  #deliver(first: Message, process: Process): void {
    const isolate = this.#isolates.get(process.timers);
    if (isolate === undefined) return;
    const now = this.#ground.now();
    const others = this.#messages.filter((message) => message !== first && message.at <= now);
    const messages = [first, ...others.slice(0, batch - 1)];
    this.#messages = this.#messages.filter((message) => !messages.includes(message));
    /** When a message comes again; null: it is acknowledged. */
    const fates = new Map<Message, number | null>();
    const again = () => {
      for (const message of messages) {
        const delayMs = fates.get(message) ?? 0;
        if (fates.get(message) === null || message.attempts >= mostAttempts) continue;
        this.#messages.push({ ...message, at: this.#ground.now() + delayMs, attempts: message.attempts + 1 });
      }
    };
    const cutOff = () => {
      fates.clear(); // it comes again as a whole, whatever was acknowledged
      again();
    };
    this.#underWay.set(cutOff, process);
    const letters = messages.map((message) => ({
      body: message.body,
      attempts: message.attempts,
      ack: () => void fates.set(message, null),
      retry: ({ delaySeconds = 0 } = {}) => void fates.set(message, delaySeconds * 1_000),
    }));
    const dispatcher = isolate.dispatcher(stepsHere);
    const delivery = this.#visiting.run(dispatcher, async () => {
      await deliver(letters, {
        carryOut: (turns) => process.carryOut(turns),
        settled: () => dispatcher.settled(),
        sendAnew: async (turns) => {
          await dispatcher.dispatch(turns, 0);
          await dispatcher.settled();
          return dispatcher.isWhole;
        },
        isOpen: () => true,
        onError: () => {},
      });
      await dispatcher.settled();
    });
    void delivery.then(() => {
      if (this.#underWay.delete(cutOff)) again();
    });
  }

  #ring(object: AlarmObject, process: Process): void {
    const { cutOff, hasEnded } = object.ring(() => this.#tick(process));
    this.#underWay.set(cutOff, process);
    void hasEnded.then(() => this.#underWay.delete(cutOff));
  }

  #trigger(process: Process): void {
    const { now, below, code } = this.#ground;
    this.#isCronTwice = !this.#isCronTwice && below(20) === 0;
    this.#cronAt = Math.floor(now() / minuteMs) * minuteMs;
    const shards = this.#isolates.get(process.timers)?.shards;
    if (shards === undefined || below(20) === 0) return; // nobody came
    const tick = () => this.#tick(process);
    watch({ shards, code: code(), sweepMs, tick, tell: () => {} }).catch(() => {});
  }

  /**
   * Ticks as a visit does. What the queue refuses is looked at again. A first tick counts only if all of it was taken.
   */
  async #tick(process: Process): Promise<{ due: number; isWhole: boolean }> {
    const isolate = this.#isolates.get(process.timers);
    if (isolate === undefined) throw new Error("a process has an isolate");
    const refused = new Set<string>();
    const dispatcher = isolate.dispatcher(0, (turns) => {
      for (const { runId } of turns) refused.add(runId);
    });
    const settle = async (moves: readonly Move[]) => {
      await dispatcher.settled();
      const again = moves.filter(({ runId }) => refused.has(runId));
      await makeDueAgain(process.calls, again).catch(() => {});
      return dispatcher.isWhole;
    };
    const due = await this.#visiting.run(dispatcher, () => this.#ground.tick(process, settle));
    return { due, isWhole: dispatcher.isWhole };
  }

  get #isRefusing(): boolean {
    const at = this.#ground.timeOf(this.#ground.now());
    return at >= this.#refusesFrom && at < this.#refusesUntil;
  }

  /** When each minute rings that is kept, by the world's clock. */
  get #minutes(): readonly number[] {
    return this.#objects.flatMap(({ minutes }) => minutes);
  }

  /** Whether some object has noted no tick of the live deployment yet. */
  get #isNew(): boolean {
    return this.#objects.some((object) => !object.knows(this.#ground.code()));
  }

  /** Answers when the cron trigger next finds something to do. What it asks in vain is left out. */
  #nextCron(): number | undefined {
    const { now, dueAt } = this.#ground;
    const soonest = this.#cronAt + minuteMs;
    if (this.#isNew) return Math.max(soonest, now());
    const first = earliest(this.#minutes);
    if (first !== undefined) return Math.max(soonest, Math.ceil((first + minuteMs) / minuteMs) * minuteMs);
    const due = dueAt();
    return due === undefined ? undefined : Math.max(soonest, due + sweepMs);
  }
}

function describeMessage(message: AlarmMessage): string {
  if ("arm" in message)
    return `minutes ${message.arm
      .map((minute) => minuteRingsAt(minute))
      .map(timeInWords)
      .join(", ")}`;
  return "note" in message ? "a note" : "a look";
}

function timeInWords(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/**
 * Cloudflare, by its rules, around layover's real code for it: what is dispatched goes through QueueDispatch, a delivery
 * through deliver, an armed instant through AlarmShards into Minutes of a Durable Object, and a cron trigger through watch.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { TurnRef } from "../../../src/core/ports.ts";
import { AlarmShards } from "../../../src/platform/alarm-shards.ts";
import { type AlarmMessage, Minutes, ringsAt } from "../../../src/platform/minutes.ts";
import { deliver } from "../../../src/platform/queue-delivery.ts";
import { QueueDispatch, type QueueMessage } from "../../../src/platform/queue-dispatch.ts";
import { watch } from "../../../src/platform/watch.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { describeTurn, type Process } from "../../engine/process.ts";
import { PlayedObject } from "../../platform/minute-storage.ts";
import type { Ground, Outside } from "./outside.ts";

interface Message {
  readonly body: TurnRef;
  readonly at: number;
  readonly attempts: number;
}

/** What a process has of this platform. */
interface Isolate {
  readonly shards: AlarmShards;
  /** A dispatcher for each visit: what is ready within a delivery may be carried out there. */
  readonly dispatcher: (steps: number) => QueueDispatch;
}

const minuteMs = 60_000;
const sweepMs = 6 * 3_600_000;
/** https://developers.cloudflare.com/queues/configuration/configure-queues/: of a consumer, as wrangler.toml has it. */
const batch = 10;
const mostAttempts = 10;
/** At least once, in any order: https://developers.cloudflare.com/queues/reference/delivery-guarantees/ */
const percentTwice = 5;
const percentLate = 10;
const latestMs = 60_000;
/** https://developers.cloudflare.com/durable-objects/api/alarms/: six times more, from 2 s on, doubling; then it is dropped. */
const alarmRetries = 6;
const firstRetryMs = 2_000;
const latestAlarmMs = 30_000;
const stepsHere = 10;

export class Cloudflare implements Outside {
  readonly isExact = true;
  /**
   * Two clocks that are off each round up to a minute of their own, and give 2 s. And what a process believes to be the
   * database's time is late by how long its last answer was under way, up to the 30 s that a COMMIT may take.
   */
  readonly graceMs = 34_000;
  readonly #ground: Ground;
  readonly #object = new PlayedObject();
  readonly #offMs: number;
  readonly #isolates = new WeakMap<object, Isolate>();
  readonly #visiting = new AsyncLocalStorage<QueueDispatch>();
  /** What is under way, by the process that is about it; and what becomes of it when that dies. */
  readonly #underWay = new Map<() => void, Process>();
  #messages: Message[] = [];
  #lateMs = 0;
  #alarmTries = 0;
  #isRinging = false;
  #cronAt = Number.NEGATIVE_INFINITY;
  #isCronTwice = false;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#offMs = ground.below(1_200_000) - 600_000;
  }

  readonly ports: Outside["ports"] = ({ timers, ask, carryOut }) => {
    const queue = {
      sendBatch: (messages: Iterable<QueueMessage>) => {
        const sent = [...messages];
        return ask("dispatch", sent.map(({ body }) => describeTurn(body)).join(), async () => this.#send(sent));
      },
    };
    const dispatcher = (steps: number) =>
      new QueueDispatch({
        queue,
        here: { carryOut: (turns) => carryOut(turns), steps, isOpen: () => true },
        host: timers,
        onError: () => {},
      });
    const shards = new AlarmShards({
      ask: (_, message) => ask("alarm", describeMessage(message), () => this.#objectOf().answer(message)),
      shards: 1,
      armed: new Set(),
      now: () => this.#ground.now() - this.#ground.timeOf(this.#ground.now()) + timers.monotonic(),
      host: timers,
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
    const { alarmAt } = this.#object;
    return [
      ...(alarmAt !== null && !this.#isRinging && alarmAt - this.#offMs + this.#lateMs <= now
        ? [{ what: () => `the Durable Object's alarm rings, to ${process.name}`, act: () => this.#ring(process) }]
        : []),
      ...(this.#isCronTwice || (this.#nextCron() ?? Number.POSITIVE_INFINITY) <= now
        ? [{ what: () => `the cron trigger rings, to ${process.name}`, act: () => this.#trigger(process) }]
        : []),
      ...this.#messages
        .filter(({ at }) => at <= now)
        .map((message) => ({
          what: () =>
            `the queue delivers ${describeTurn(message.body)} of ${message.body.runId} and others to ${process.name}`,
          act: () => this.#deliver(message, process),
        })),
    ];
  }

  next(): number | undefined {
    const { alarmAt } = this.#object;
    const now = this.#ground.now();
    const at = earliest([
      alarmAt === null || this.#isRinging ? undefined : alarmAt - this.#offMs + this.#lateMs,
      this.#nextCron(),
      ...this.#messages.flatMap((message) => (message.at > now ? [message.at] : [])),
    ]);
    return at === undefined ? undefined : this.#ground.timeOf(Math.max(at, now));
  }

  /** A minute stays until its tick has ended well, and the cron finds those whose alarm was dropped. */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    const rings = this.#minutes().map((at) => ({ at, ringsAt: at, isRinging: at <= now }));
    const isNew = this.#object.entries.get("deployment") !== this.#ground.deployment();
    return isNew ? [...rings, { at: now, ringsAt: now, isRinging: true, isUnarmed: true }] : rings;
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

  #ring(process: Process): void {
    const { now } = this.#ground;
    this.#object.alarmAt = null;
    this.#isRinging = true;
    const cutOff = () => {
      this.#isRinging = false;
      this.#alarmTries += 1;
      // Set anew meanwhile, it is another alarm.
      if (this.#alarmTries <= alarmRetries && this.#object.alarmAt === null)
        this.#object.alarmAt = now() + this.#offMs + firstRetryMs * 2 ** (this.#alarmTries - 1);
    };
    this.#underWay.set(cutOff, process);
    void this.#objectOf(process)
      .ring()
      .then(() => {
        if (!this.#underWay.delete(cutOff)) return;
        this.#isRinging = false;
        this.#alarmTries = 0;
        this.#lateMs = this.#ground.below(3) === 0 ? this.#ground.below(latestAlarmMs) : 0;
      });
  }

  #trigger(process: Process): void {
    const { now, below, tick, deployment } = this.#ground;
    this.#isCronTwice = !this.#isCronTwice && below(20) === 0;
    this.#cronAt = Math.floor(now() / minuteMs) * minuteMs;
    const shards = this.#isolates.get(process.timers)?.shards;
    if (shards === undefined || below(20) === 0) return; // nobody came
    const ticked = async () => ({ due: await tick(process), isWhole: true });
    watch({ shards, deployment: deployment(), sweepMs, tick: ticked, onError: () => {} }).catch(() => {});
  }

  #objectOf(process?: Process): Minutes {
    const { now, tick, deployment } = this.#ground;
    return new Minutes({
      storage: this.#object,
      now: () => now() + this.#offMs,
      ring: async (noted) => {
        if (process === undefined) return false;
        try {
          await tick(process);
          return noted === undefined || noted === deployment();
        } catch {
          return false;
        }
      },
      onError: () => {},
    });
  }

  /** When the minutes ring that are kept, by the world's clock. */
  #minutes(): readonly number[] {
    return [...this.#object.entries.keys()]
      .filter((key) => key.startsWith("minute/"))
      .map((key) => ringsAt(Number(key.slice("minute/".length))) - this.#offMs);
  }

  /** When the cron trigger finds something to do; what it asks in vain is left out. */
  #nextCron(): number | undefined {
    const { now, deployment, dueAt } = this.#ground;
    const soonest = this.#cronAt + minuteMs;
    if (this.#object.entries.get("deployment") !== deployment()) return Math.max(soonest, now());
    const first = earliest(this.#minutes());
    if (first !== undefined) return Math.max(soonest, Math.ceil((first + minuteMs) / minuteMs) * minuteMs);
    const due = dueAt();
    return due === undefined ? undefined : Math.max(soonest, due + sweepMs);
  }
}

function describeMessage(message: AlarmMessage): string {
  if ("arm" in message)
    return `minutes ${message.arm
      .map((minute) => ringsAt(minute))
      .map(timeInWords)
      .join(", ")}`;
  return "note" in message ? "a note" : "a look";
}

function timeInWords(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/**
 * AWS, by its rules, around the functions that `serve` makes: asynchronous invocations that come late, twice or never; a
 * queue; schedules (aws-schedules.ts); environments that are frozen, die, and are cut off at their time limit. What layover
 * does with all that is its own code (see lambda-environment.ts).
 */
import { minuteMs, sweepMs } from "../../../src/core/waking.ts";
import type { QueuedMessage } from "../../../src/platform/lambda/aws/send.ts";
import { readForwarded } from "../../../src/platform/lambda/messages.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { alarmOf, describe, type Invocation, turnsOf, unarmed } from "./aws-events.ts";
import { AwsSchedules } from "./aws-schedules.ts";
import { AwsServices } from "./aws-services.ts";
import { LambdaEnvironment, timeouts } from "./lambda-environment.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

interface Message {
  readonly body: string;
  readonly at: number;
  readonly receives: number;
}

/** What an environment carries out. */
interface Work {
  readonly endsAt: number;
  /** A tick's event. */
  readonly ticks?: string;
  /** Messages for ticks among those that are forwarded. */
  readonly messages?: readonly Message[];
  /** The environment died. */
  readonly lost: () => void;
}

/**
 * How many in a hundred come twice, or late. An asynchronous invocation comes at least once, a message of a queue too:
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-async.html
 */
const percentTwice = 5;
const percentLate = 10;
const latestMs = 30_000;
/** One invocation of `turns` in so many never comes, though AWS has taken it. */
const losing = 200;
/** A failed tick is invoked again after these pauses, and then goes to the queue. */
const tickAgainMs = [minuteMs, 2 * minuteMs];
/** How long an event of `turns` waits at most. */
const eventAgeMs = 15 * minuteMs;
/** When a message comes again that was received, and how often it comes at most. */
const visibilityMs = 3 * minuteMs;
const mostReceives = 5;
const forwarded = 10;

export class Aws implements Outside {
  readonly isExact = true;
  /** As for Cloudflare: see there. */
  readonly graceMs = 36_000;
  refusedAt: number | undefined;
  readonly #ground: Ground;
  readonly #environments = new Set<LambdaEnvironment>();
  readonly #underWay = new Map<LambdaEnvironment, Work>();
  readonly #taken = new Map<string, number>();
  readonly #schedules: AwsSchedules;
  readonly #services: AwsServices;
  #invocations: Invocation[] = [];
  #messages: Message[] = [];
  #sweptAt: number | undefined;
  #ticked: string | undefined;

  constructor(ground: Ground) {
    this.#ground = ground;
    const outlast = (at: number) => this.#outlast(at);
    this.#schedules = new AwsSchedules({
      ground,
      tick: (event) => this.#invoke("tick", event),
      giveUp: () => this.#giveUp(),
      outlast,
    });
    this.#services = new AwsServices({
      ground,
      invoke: (name, payload) => this.#invoke(name, payload),
      send: (message) => this.#send(message),
      schedule: (oneShot) => this.#schedules.add(oneShot),
      outlast,
    });
  }

  /** Its clock is all but right, as that of AWS' hosts is. */
  readonly beget = (plan: Plan): LambdaEnvironment => {
    const { below, now, hasTicked } = this.#ground;
    const deployment = plan.deployment?.id ?? "";
    const environment = new LambdaEnvironment(
      { ...plan, skewMs: Math.round((plan.skewMs ?? 0) / 1_000) },
      {
        servicesOf: (asking) => this.#services.of(asking),
        below,
        now,
        onTicked: () => {
          this.#ticked = deployment;
          hasTicked(deployment);
        },
      },
    );
    this.#environments.add(environment);
    return environment;
  };

  readonly taker = (): Mortal => {
    const free = [...this.#environments].find(({ isTaken }) => !isTaken) ?? this.#another();
    free.isTaken = true;
    return free;
  };

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    return [
      ...this.#schedules.happenings(),
      ...this.#invocations
        .filter(({ at }) => at <= now)
        .map((invocation) => ({ what: () => describe(invocation), act: () => this.#begin(invocation) })),
      ...(this.#messages.some(({ at }) => at <= now)
        ? [{ what: () => "the queue delivers", act: () => this.#forward() }]
        : []),
      ...[...this.#underWay]
        .filter(([, { endsAt }]) => endsAt <= now)
        .map(([environment]) => ({
          what: () => `${environment.name} is cut off at its time limit`,
          act: () => this.#ground.crash(environment),
        })),
      ...((this.#nextSweep() ?? Number.POSITIVE_INFINITY) <= now
        ? [{ what: () => "the sweep ticks", act: () => this.#sweep() }]
        : []),
    ];
  }

  next(): number | undefined {
    const now = this.#ground.now();
    const at = earliest([
      ...this.#schedules.standing.map(({ firesAt }) => firesAt),
      ...this.#invocations.map((invocation) => invocation.at),
      ...this.#messages.map((message) => message.at),
      ...[...this.#underWay.values()].map(({ endsAt }) => endsAt),
      this.#nextSweep(),
    ]);
    return at === undefined ? undefined : this.#ground.timeOf(Math.max(at, now));
  }

  /** A tick that is asked for counts until it has ended, wherever its event is. */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    const ticks = this.#invocations.filter(({ name }) => name === "tick");
    const messages = [...this.#messages, ...[...this.#underWay.values()].flatMap(({ messages = [] }) => messages)];
    return [
      ...this.#schedules.standing.map(({ oneShot, firesAt }) => alarmOf(oneShot.input, firesAt, false)),
      ...ticks.map(({ payload, at }) => alarmOf(payload, at, true)),
      ...[...this.#underWay.values()].flatMap(({ ticks }) => (ticks === undefined ? [] : [alarmOf(ticks, now, true)])),
      ...messages.flatMap(({ body, at }) => {
        const message = readForwarded(body);
        const event = message === undefined ? undefined : "failed" in message ? message.failed : message.event;
        return event === undefined || "turns" in event ? [] : [alarmOf(JSON.stringify(event), at, true)];
      }),
      ...(this.#sweptAt === undefined ? [] : [unarmed(this.#sweptAt)]),
      ...(this.#ticked === this.#ground.deployment() ? [] : [unarmed(now)]),
    ];
  }

  lose(process: Mortal): void {
    if (!(process instanceof LambdaEnvironment)) return;
    this.#environments.delete(process);
    const work = this.#underWay.get(process);
    this.#underWay.delete(process);
    work?.lost();
  }

  taken(runId: string): number {
    return this.#taken.get(runId) ?? 0;
  }

  /** As the construct does it. */
  deployed(): void {
    this.#invoke("tick", "{}");
  }

  #another(): LambdaEnvironment {
    const made = this.#ground.another();
    if (made instanceof LambdaEnvironment) return made;
    throw new Error("it is no environment of Lambda");
  }

  #free(): LambdaEnvironment {
    const free = this.taker();
    if (free instanceof LambdaEnvironment) return free;
    throw new Error("it is no environment of Lambda");
  }

  #invoke(name: Invocation["name"], payload: string): void {
    const { below, now } = this.#ground;
    if (name === "turns") this.#note(payload);
    if (name === "turns" && below(losing) === 0) return;
    const at = now() + (below(100) < percentLate ? below(latestMs) : 0);
    this.#invocations.push({ name, payload, at, tries: 0 });
    if (below(100) < percentTwice) this.#invocations.push({ name, payload, at: at + below(latestMs), tries: 0 });
    // An account without concurrency to spare lets events wait.
    if (name === "turns" && below(50) === 0)
      this.#invocations.push({ name, payload, at: at + below(eventAgeMs), tries: 0 });
  }

  /** Notes how many dispatches of each run were taken. */
  #note(payload: string): void {
    for (const { runId } of turnsOf(payload)) this.#taken.set(runId, this.taken(runId) + 1);
  }

  #send({ body, delaySeconds }: QueuedMessage): void {
    const { below, now } = this.#ground;
    const message = readForwarded(body);
    if (message !== undefined && "to" in message && message.to === "turns") this.#note(JSON.stringify(message.event));
    else this.#outlast(now() + delaySeconds * 1_000);
    const at = now() + delaySeconds * 1_000 + (below(100) < percentLate ? below(latestMs) : 0);
    this.#messages.push({ body, at, receives: 0 });
    if (below(100) < percentTwice) this.#messages.push({ body, at: at + below(latestMs), receives: 0 });
  }

  /** A tick that failed comes again at this instant, and may be what a run waits for. */
  #outlast(at: number): void {
    this.refusedAt = Math.max(this.refusedAt ?? 0, at);
  }

  #begin(invocation: Invocation): void {
    const { now } = this.#ground;
    this.#invocations = this.#invocations.filter((other) => other !== invocation);
    const { name, payload } = invocation;
    const environment = this.#free();
    if (name === "turns") {
      this.#carryOut(environment, { endsAt: now() + timeouts.turns, lost: () => {} }, () =>
        environment.turns(JSON.parse(payload)),
      );
      return;
    }
    const failed = () => this.#again(invocation);
    const work = { endsAt: now() + timeouts.tick, ticks: payload, lost: failed };
    this.#carryOut(environment, work, () => environment.tick(JSON.parse(payload)).catch(failed));
  }

  #forward(): void {
    const { now } = this.#ground;
    const received = this.#messages.filter(({ at }) => at <= now()).slice(0, forwarded);
    this.#messages = this.#messages.filter((message) => !received.includes(message));
    const environment = this.#free();
    const comeAgain = (messages: readonly Message[]) => {
      for (const { body, receives } of messages)
        if (receives + 1 < mostReceives)
          this.#messages.push({ body, at: now() + visibilityMs, receives: receives + 1 });
        else this.#giveUp();
    };
    const work = { endsAt: now() + timeouts.forward, messages: received, lost: () => comeAgain(received) };
    const Records = received.map(({ body }, index) => ({ messageId: String(index), body }));
    this.#carryOut(environment, work, async () => {
      const { batchItemFailures } = await environment.forward({ Records });
      comeAgain(batchItemFailures.flatMap(({ itemIdentifier }) => received[Number(itemIdentifier)] ?? []));
    });
  }

  #carryOut(environment: LambdaEnvironment, work: Work, act: () => Promise<void>): void {
    this.#underWay.set(environment, work);
    void act().then(() => this.#underWay.delete(environment));
  }

  /** As the function `tick` is configured: two tries more, and then the queue. */
  #again({ name, payload, tries }: Invocation): void {
    const { now } = this.#ground;
    const pauseMs = tickAgainMs[tries];
    if (pauseMs !== undefined) {
      this.#invocations.push({ name, payload, at: now() + pauseMs, tries: tries + 1 });
      this.#outlast(now() + pauseMs);
      return;
    }
    this.#send({ body: JSON.stringify({ requestPayload: JSON.parse(payload) }), delaySeconds: 0 });
  }

  /** A schedule or a message is gone. The sweep finds what it was about. */
  #giveUp(): void {
    this.#sweptAt = Math.ceil((this.#ground.now() + 1) / sweepMs) * sweepMs;
    this.#outlast(this.#sweptAt);
  }

  /** When the sweep ticks next. One that would find nothing is left out. */
  #nextSweep(): number | undefined {
    if (this.#sweptAt !== undefined) return this.#sweptAt;
    const due = this.#ground.dueAt();
    return due === undefined ? undefined : Math.ceil((Math.max(due, this.#ground.now()) + 1) / sweepMs) * sweepMs;
  }

  #sweep(): void {
    this.#sweptAt = undefined;
    this.#invoke("tick", JSON.stringify({ sweep: true }));
  }
}

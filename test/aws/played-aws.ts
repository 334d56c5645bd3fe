/**
 * The functions of a deployment as they are, and AWS around them: schedules that fire at some instant of their minute,
 * asynchronous invocations under a limit of concurrency, a queue that delays, parameters. All of it is in this process, on
 * time that passes only when nothing else is left to happen; Postgres alone is real. Nothing is lost or comes twice: see
 * test/simulation.
 */
import type { Query } from "layover";
import type { LambdaOptions } from "layover/lambda";
import { pause } from "../../src/core/waits.ts";
import type { OneShot } from "../../src/platform/lambda/aws/schedule.ts";
import type { QueuedMessage } from "../../src/platform/lambda/aws/send.ts";
import type { Services } from "../../src/platform/lambda/aws/services.ts";
import type { TurnsEvent } from "../../src/platform/lambda/messages.ts";
import { functionsOf, type LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { PlayedTime } from "../idle/played-time.ts";
import type { Clock } from "../postgres/clock.ts";

type FunctionName = "turns" | "tick" | "forward";

export interface PlayedAwsOptions extends Pick<LambdaOptions, "workflows" | "onLog" | "onError"> {
  readonly query: Query;
  /** Clock of the same database, which is set to the clock that is played. */
  readonly clock: Clock;
  /** How many invocations are at work at a time at most, of all functions together. */
  readonly concurrency: number;
  /** How long after the beginning of its minute a schedule fires, in milliseconds. */
  readonly lateness: () => number;
}

/** How long a call to a service of AWS is under way. */
const serviceMs = 20;
/** How long an environment takes to begin, and until an invocation reaches one. */
const coldMs = 400;
const warmMs = 10;
/** How long each function may take. */
const timeouts: Readonly<Record<FunctionName, number>> = { turns: 900_000, tick: 900_000, forward: 30_000 };
/** How long an event of `turns` waits for an environment at most. */
const eventAgeMs = 15 * 60_000;
const minuteMs = 60_000;
/**
 * How long Lambda waits before it tries an event again that found no concurrency: twice as long after each try. (AWS Lambda
 * developer guide, "How Lambda handles errors and retries with asynchronous invocation".)
 */
const firstPauseMs = 1_000;
const longestPauseMs = 5 * 60_000;
/** How many messages the function `forward` gets at a time. */
const forwarded = 10;

const env = {
  LAYOVER_TURNS: "turns",
  LAYOVER_TICK: "arn:aws:lambda:eu-central-1:123456789012:function:tick",
  LAYOVER_SCHEDULE_GROUP: "orders",
  LAYOVER_SCHEDULE_ROLE: "arn:aws:iam::123456789012:role/orders",
  LAYOVER_QUEUE_URL: "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
  LAYOVER_QUEUE_ARN: "arn:aws:sqs:eu-central-1:123456789012:orders",
  LAYOVER_PARAMETERS: "/orders",
};

const parameters = new Map([
  ["/orders/secret", "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g"],
  ["/orders/public-url", "https://example.com"],
]);

/** What happens from one look at it to the next. */
export class AwsTally {
  readonly statements: string[] = [];
  readonly invocations: Record<FunctionName, number> = { turns: 0, tick: 0, forward: 0 };
  /** The turns of all events that were carried out. */
  turns = 0;
  schedules = 0;
  messages = 0;
  coldStarts = 0;
  /** How often an event found no concurrency. */
  throttled = 0;
  /** How many events were dropped, since they found none for too long. Their runs' alarms stand. */
  dropped = 0;

  get counts(): Readonly<Record<string, number>> {
    const groups = Map.groupBy(this.statements, (name) => name);
    return Object.fromEntries([...groups].map(([name, calls]) => [name, calls.length]));
  }
}

interface Environment extends LambdaFunctions {
  isCold: boolean;
}

interface Event {
  readonly name: FunctionName;
  readonly payload: unknown;
  readonly at: number;
}

export class PlayedAws {
  /** Errors of invocations that rejected, and of messages that were to come again. */
  readonly errors: unknown[] = [];
  readonly #options: PlayedAwsOptions;
  readonly #time: PlayedTime;
  readonly #idle: Record<FunctionName, Environment[]> = { turns: [], tick: [], forward: [] };
  readonly #schedules = new Set<string>();
  #tally = new AwsTally();
  #atWork = 0;
  readonly #delivered: string[] = [];

  constructor(options: PlayedAwsOptions) {
    this.#options = options;
    const { query, clock } = options;
    this.#time = new PlayedTime({ query, clock, onStatement: (name) => this.#tally.statements.push(name) });
  }

  now(): number {
    return this.#time.now();
  }

  /** Waits, on its time. */
  async pause(ms: number): Promise<void> {
    await pause(this.#time.host, ms);
  }

  async passUntil(instant: number): Promise<void> {
    await this.#time.passUntil(instant);
  }

  /** Answers what has happened since the last call. */
  takeTally(): AwsTally {
    const tally = this.#tally;
    this.#tally = new AwsTally();
    return tally;
  }

  /** Invokes `tick` as the construct does after each deploy. */
  deployed(): void {
    this.#invoke("tick", {});
  }

  #invoke(name: FunctionName, payload: unknown): void {
    this.#try({ name, payload, at: this.now() }, firstPauseMs);
  }

  #try(event: Event, pauseMs: number): void {
    if (event.name === "turns" && this.now() - event.at > eventAgeMs) {
      this.#tally.dropped += 1;
      return;
    }
    if (this.#atWork >= this.#options.concurrency) {
      this.#tally.throttled += 1;
      this.#time.host.after(pauseMs, () => this.#try(event, Math.min(2 * pauseMs, longestPauseMs)));
      return;
    }
    this.#atWork += 1;
    this.#tally.invocations[event.name] += 1;
    if (event.name === "turns") this.#tally.turns += (event.payload as TurnsEvent).turns.length;
    this.#carryOut(event)
      .catch((error: unknown) => this.errors.push(error))
      .finally(() => {
        this.#atWork -= 1;
      });
  }

  async #carryOut({ name, payload }: Event): Promise<void> {
    const { host } = this.#time;
    const environment = this.#idle[name].pop() ?? this.#begin();
    await pause(host, environment.isCold ? coldMs : warmMs);
    const endsAt = host.now() + timeouts[name];
    const context = { awsRequestId: "request", getRemainingTimeInMillis: () => endsAt - host.now() };
    const copy: unknown = JSON.parse(JSON.stringify(payload));
    if (name === "forward") {
      const answer = await environment.forward(copy as Parameters<LambdaFunctions["forward"]>[0], context);
      if (answer.batchItemFailures.length > 0) this.errors.push(new Error("a message is to come again"));
    } else await environment[name](copy, context);
    this.#idle[name].push(Object.assign(environment, { isCold: false }));
  }

  #begin(): Environment {
    const { workflows, onLog, onError } = this.#options;
    const { host, query } = this.#time;
    this.#tally.coldStarts += 1;
    const functions = functionsOf(
      { workflows, onLog, onError, database: () => query },
      { host, env, services: this.#services(), engine: { atRest: () => pause(host, 0) } },
    );
    return { ...functions, isCold: true };
  }

  #services(): Services {
    const { host } = this.#time;
    const answered = () => pause(host, serviceMs);
    return {
      invoke: async (name, event) => {
        await answered();
        this.#invoke(name === env.LAYOVER_TICK ? "tick" : "turns", JSON.parse(event));
      },
      ask: async () => {
        throw new Error("nothing is asked for here");
      },
      schedule: async (schedule) => {
        await answered();
        return this.#schedule(schedule);
      },
      send: async (_queue, messages) => {
        await answered();
        for (const message of messages) this.#send(message);
        return [];
      },
      parameters: async (names) => {
        await answered();
        return new Map([...parameters].filter(([name]) => names.includes(name)));
      },
    };
  }

  #schedule({ name, at, input }: OneShot): "created" | "exists" {
    if (this.#schedules.has(name)) return "exists";
    const { host } = this.#time;
    if (at % minuteMs !== 0 || at <= host.now())
      throw new Error(`no schedule can fire at ${new Date(at).toISOString()}`);
    this.#schedules.add(name);
    this.#tally.schedules += 1;
    host.after(at - host.now() + this.#options.lateness(), () => {
      this.#schedules.delete(name);
      this.#invoke("tick", JSON.parse(input));
    });
    return "created";
  }

  #send({ body, delaySeconds }: QueuedMessage): void {
    this.#tally.messages += 1;
    this.#time.host.after(delaySeconds * 1_000, () => {
      this.#delivered.push(body);
      this.#time.host.after(0, () => this.#forward());
    });
  }

  #forward(): void {
    const bodies = this.#delivered.splice(0, forwarded);
    if (bodies.length === 0) return;
    this.#invoke("forward", { Records: bodies.map((body, index) => ({ messageId: String(index), body })) });
  }
}

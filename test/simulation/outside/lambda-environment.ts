/**
 * An environment of AWS Lambda: the product's own functions, on a clock and services of the world. It carries out one
 * invocation at a time, and is frozen between two of them.
 */
import type { Client } from "layover";
import type { QueueAnswer, QueueEvent } from "layover/lambda";
import { errorIn, type LayoverEvent } from "../../../src/engine/events.ts";
import { shownError } from "../../../src/http/problem.ts";
import type { Services } from "../../../src/platform/lambda/aws/services.ts";
import { inRequest } from "../../../src/platform/lambda/on-http.ts";
import { onQueue } from "../../../src/platform/lambda/on-queue.ts";
import { onTick } from "../../../src/platform/lambda/on-tick.ts";
import { onTurns } from "../../../src/platform/lambda/on-turns.ts";
import type { LambdaContext } from "../../../src/platform/lambda/options.ts";
import { type ServedFunctions, servedFunctions } from "../../../src/platform/lambda/served-functions.ts";
import { Hosted } from "./hosted.ts";
import type { Plan } from "./outside.ts";

/** How long each function may take, in milliseconds. As the construct of layover/cdk has it. */
export const timeouts = { http: 90_000, turns: 900_000, tick: 900_000, forward: 30_000 } as const;

export interface EnvironmentOptions {
  readonly servicesOf: (environment: LambdaEnvironment) => Services;
  readonly below: (bound: number) => number;
  readonly now: () => number;
  readonly onTicked: () => void;
}

const env = {
  LAYOVER_TURNS: "turns",
  LAYOVER_TICK: "tick",
  LAYOVER_SCHEDULE_GROUP: "group",
  LAYOVER_SCHEDULE_ROLE: "role",
  LAYOVER_QUEUE_URL: "queue",
  LAYOVER_QUEUE_ARN: "queue",
  LAYOVER_PARAMETERS: "/simulation",
};

export const parameters: ReadonlyMap<string, string> = new Map([
  ["/simulation/secret", "a root secret of at least 32 bytes, for tests"],
  ["/simulation/public-url", "https://example.com"],
]);

export class LambdaEnvironment extends Hosted {
  /** Somebody has it to themselves. */
  isTaken = false;
  readonly #served: ServedFunctions;
  readonly #options: EnvironmentOptions;

  constructor(plan: Plan, options: EnvironmentOptions) {
    super(plan);
    this.#options = options;
    const { workflows, namespace, invocation, claimBytes, newToken, random, onError, deployment, publicUrl } = plan;
    const served = servedFunctions(
      {
        workflows,
        namespace,
        ...(invocation?.maxSteps !== undefined && { invocation: { maxSteps: invocation.maxSteps } }),
        deployment: deployment?.id,
        deploymentName: deployment?.name,
        ...(publicUrl !== undefined && { publicUrl: () => publicUrl }),
        database: () => this.database(),
        onLog: () => {},
        onEvent: (event: LayoverEvent) => {
          const [error, doing] = errorIn(event) ?? [];
          if (doing !== undefined) onError?.(error, doing);
        },
      },
      {
        host: this.timers,
        send: plan.send,
        services: options.servicesOf(this),
        env,
        engine: { atRest: () => this.rest(), claimBytes, newToken, random },
      },
    );
    this.#served = { ...served, begin: (...terms) => this.#telling(served.begin(...terms)) };
    this.timers.freeze();
  }

  /** A request from outside, without its HTTP. An error is what the face would make of it. */
  override async request<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#invoked("http", [], async (context) => {
        this.#served.environment.wake();
        return await inRequest(this.#served, context, question).finally(() => this.#served.environment.rest());
      });
    } catch (error) {
      throw shownError(error);
    }
  }

  async turns(event: unknown): Promise<void> {
    const { turns }: { turns?: readonly unknown[] } = Object(event);
    await this.#invoked("turns", turns ?? [], (context) => onTurns(this.#served, event, context));
  }

  async tick(event: unknown): Promise<void> {
    await this.#invoked("tick", [], (context) => onTick(this.#served, event, context));
  }

  async forward(event: QueueEvent): Promise<QueueAnswer> {
    return await this.#invoked("forward", [], () => onQueue(this.#served, event));
  }

  async #invoked<Answer>(
    name: keyof typeof timeouts,
    turns: readonly unknown[],
    work: (context: LambdaContext) => Promise<Answer>,
  ): Promise<Answer> {
    const { below, now } = this.#options;
    this.isTaken = true;
    this.timers.thaw({ stoodStill: below(2) === 0 });
    const endsAt = now() + timeouts[name];
    const context = { awsRequestId: "request", getRemainingTimeInMillis: () => endsAt - now() };
    try {
      return await this.carryingOut(turns, () => work(context));
    } finally {
      this.timers.freeze();
      this.isTaken = false;
    }
  }

  #telling(invocation: ReturnType<ServedFunctions["begin"]>): ReturnType<ServedFunctions["begin"]> {
    let hasTicked = false;
    return {
      ...invocation,
      tick: async (readyUntil) => {
        const answer = await invocation.tick(readyUntil);
        hasTicked = true;
        return answer;
      },
      end: async () => {
        const isWhole = await invocation.end();
        if (hasTicked && isWhole) this.#options.onTicked();
        return isWhole;
      },
    };
  }
}

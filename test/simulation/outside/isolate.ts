/** An isolate of Cloudflare's: the product's own Worker, and its Durable Objects, on a clock and bindings of the world. */
import type { Client } from "layover";
import {
  type AlarmNamespace,
  type Fetcher,
  LayoverAlarm,
  type MessageBatch,
  type QueueProducer,
} from "layover/cloudflare";
import type { TurnRef } from "../../../src/core/ports.ts";
import { errorIn, type LayoverEvent } from "../../../src/engine/events.ts";
import { shownError } from "../../../src/http/problem.ts";
import type { MinuteStorage } from "../../../src/platform/cloudflare/alarm/minutes.ts";
import type { Served } from "../../../src/platform/cloudflare/alarm/script.ts";
import { inRequest } from "../../../src/platform/cloudflare/on-request.ts";
import { workerOf } from "../../../src/platform/cloudflare/serve.ts";
import { servedWorker } from "../../../src/platform/cloudflare/served-worker.ts";
import { atWork } from "../../engine/mortal.ts";
import { Hosted } from "./hosted.ts";
import type { Plan } from "./outside.ts";

/** What is bound, as far as the platform has it. */
interface Env {
  readonly QUEUE?: QueueProducer;
  readonly ALARM?: AlarmNamespace;
  readonly SELF?: Fetcher;
}

export interface IsolateOptions {
  readonly bindingsOf: (isolate: Isolate) => Env;
  readonly alarmShards?: number;
  /** Is told that a tick has ended well for which a Durable Object rang, or which the cron trigger found missing. */
  readonly onTicked?: () => void;
}

const secret = "a root secret of at least 32 bytes, for tests";

export class Isolate extends Hosted {
  readonly #env: Env;
  readonly #script: Set<Served>;
  readonly #served;
  readonly #worker;

  constructor(plan: Plan, { bindingsOf, alarmShards, onTicked = () => {} }: IsolateOptions) {
    super(plan);
    const { workflows, namespace, invocation, claimBytes, newToken, random, onError } = plan;
    this.#env = bindingsOf(this);
    this.#script = new Ticking(onTicked);
    const options = {
      workflows,
      namespace,
      invocation,
      alarmShards,
      deployment: () => plan.deployment?.id,
      deploymentName: plan.deployment?.name,
      database: () => this.database(),
      publicUrl: () => plan.publicUrl ?? "https://example.com",
      secrets: () => [secret],
      queue: ({ QUEUE }: Env) => QUEUE,
      alarm: ({ ALARM }: Env) => ALARM,
      self: ({ SELF }: Env) => SELF,
      onLog: () => {},
      onEvent: (event: LayoverEvent) => {
        const [error, doing] = errorIn(event) ?? [];
        if (doing !== undefined) onError?.(error, doing);
      },
    };
    this.#served = servedWorker<Env>(options, {
      host: this.timers,
      send: plan.send,
      script: this.#script,
      engine: { atRest: () => this.rest(), claimBytes, newToken, random, warmRuns: 0 },
    });
    this.#worker = workerOf(this.#served);
  }

  /** A request from outside, without its HTTP. An error is what the face would make of it. */
  override async request<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    const context = { waitUntil: () => {} };
    try {
      return await atWork.run(this, () =>
        inRequest(this.#served, this.#env, context, ({ client }) => question(client)),
      );
    } catch (error) {
      throw shownError(error);
    }
  }

  async deliver(batch: MessageBatch): Promise<void> {
    const turns = batch.messages.map(({ body }) => body);
    await this.carryingOut(turns, () => this.#worker.queue(batch, this.#env));
  }

  /** A request of the Worker to itself. */
  async fetch(request: Request, turns: readonly TurnRef[]): Promise<Response> {
    return await this.carryingOut(turns, () => this.#worker.fetch(request, this.#env, { waitUntil: () => {} }));
  }

  async trigger(scheduledTime: number): Promise<void> {
    await atWork.run(this, () => this.#worker.scheduled({ scheduledTime, cron: "* * * * *" }, this.#env));
  }

  /** A Durable Object that runs here. `now`: its clock. */
  object(storage: MinuteStorage, now: () => number): LayoverAlarm {
    const { timers } = this;
    const host = { now, monotonic: () => timers.monotonic(), after: timers.after.bind(timers) };
    return new LayoverAlarm({ storage }, this.#env, { script: this.#script, host });
  }
}

/** A script that tells of each tick that has ended well. */
class Ticking extends Set<Served> {
  readonly #onTicked: () => void;

  constructor(onTicked: () => void) {
    super();
    this.#onTicked = onTicked;
  }

  override add(one: Served): this {
    const tick: Served["tick"] = async (env, readyUntil) => {
      const ticked = await one.tick(env, readyUntil);
      this.#onTicked();
      return ticked;
    };
    return super.add({ ...one, tick });
  }
}

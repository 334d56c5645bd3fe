/**
 * One process that carries out turns: a real engine and a real client over ports at which every call waits until the
 * world lets it pass. A process that died is never heard of again: what it waited for does not come.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Workflow } from "layover";
import { Client } from "../../src/client/over-postgres/client.ts";
import type { CallbackRef, SealCallback } from "../../src/core/contract/callback.ts";
import { groupSizeOf, isSuspect } from "../../src/core/groups.ts";
import {
  type Alarm,
  type Dispatch,
  type Parameter,
  type Query,
  QueryError,
  type TurnRef,
} from "../../src/core/ports.ts";
import { within } from "../../src/core/waits.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import type { TickAnswer, TickOptions } from "../../src/engine/scheduler/tick.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { Timers } from "./timers.ts";

export type Port = "query" | "dispatch" | "alarm";

/** A call that waits at a port. */
export interface Waiting {
  readonly port: Port;
  /** The SQL function that is called, or what is dispatched or armed. */
  readonly what: string;
  /** What a query sends: the function's one json. */
  readonly parameter: string | undefined;
  /** Carries it out in the world outside, and answers how to tell the process what came of it. `via`: a query's way. */
  readonly act: (via?: Query) => Promise<() => void>;
  readonly reject: (error: Error) => void;
}

/** How a process asks the platform for invocations and ticks. */
export interface Ports {
  readonly dispatch: Dispatch;
  readonly alarm: Alarm;
  /** The alarm rings at a pace of its own, whatever is armed. */
  readonly isBeat?: boolean | undefined;
}

/** What a platform's own code, where it stands between the engine and the world outside, has of its process. */
export interface Within {
  readonly timers: Timers;
  /** A call to the world outside. */
  readonly ask: <Answer>(port: Port, what: string, outside: () => Promise<Answer>) => Promise<Answer>;
  readonly carryOut: (turns: readonly TurnRef[]) => Promise<boolean>;
}

export interface ProcessOptions
  extends Pick<
    EngineOptions,
    | "warmRuns"
    | "invocation"
    | "environment"
    | "deployment"
    | "onLog"
    | "onError"
    | "onEvent"
    | "leaseMs"
    | "keepMs"
    | "keepFailedMs"
    | "requestId"
    | "claimBytes"
  > {
  /** What people call it who read what happened. */
  readonly name?: string | undefined;
  readonly workflows: readonly Workflow[];
  /** The deployment has no public URL: callbacks cannot be made. */
  readonly hasNoAddress?: boolean | undefined;
  readonly namespace: string;
  readonly query: Query;
  /** How long the driver waits for a statement's answer, in milliseconds. Default: for ever. */
  readonly answersWithinMs?: number | undefined;
  readonly ports: (within: Within) => Ports;
  readonly time: () => number;
  /** How far its own clock is off, in milliseconds. */
  readonly skewMs?: number | undefined;
  readonly random: () => number;
  readonly newToken: () => string;
}

/** Which process a handler or a body is carried out by. */
export const atWork = new AsyncLocalStorage<Process>();

export class Process {
  readonly name: string;
  /** Which deployment's code it runs. */
  readonly deployment: ProcessOptions["deployment"];
  readonly engine: Engine;
  readonly client: Client;
  readonly calls: Calls;
  readonly timers: Timers;
  /** Resolves when it has died. */
  readonly gone: Promise<void>;
  readonly #goes: () => void;
  readonly #environment: string;
  /** Handlers that were given their macrotask and did not have it yet. */
  resting = 0;
  isDead = false;
  /** A group is under way of those that may have ended their process. */
  hasGroup = false;
  /** It takes nothing yet. */
  isBeginning = false;
  waiting: Waiting[] = [];

  constructor(options: ProcessOptions) {
    const { workflows, namespace, query, ports, time, skewMs, ...others } = options;
    const { random, newToken, onError, hasNoAddress, name = "the process", answersWithinMs, ...engine } = others;
    this.name = name;
    this.deployment = options.deployment;
    this.#environment = options.environment ?? "default";
    const gone = Promise.withResolvers<void>();
    this.gone = gone.promise;
    this.#goes = gone.resolve;
    this.timers = new Timers(time, skewMs);
    const ported: (...statement: Parameters<Query>) => ReturnType<Query> = (text, parameters) => {
      const send = (via = query) => via(text, parameters);
      const answer = this.#pass("query", functionIn(text), send, parameters?.[0]);
      return answersWithinMs === undefined ? answer : within(this.timers, answersWithinMs, answer, unanswered);
    };
    const { dispatch, alarm, isBeat } = ports({
      timers: this.timers,
      ask: (port, what, outside) => this.#pass(port, what, outside),
      carryOut: (turns) => this.carryOut(turns),
    });
    this.calls = makeCalls({
      query: Object.assign(ported, { endpoint: query.endpoint }),
      namespace,
      alarm,
      isBeat,
      host: this.timers,
    });
    this.engine = new Engine({
      ...engine,
      calls: this.calls,
      dispatch,
      workflows,
      sealCallback: hasNoAddress ? undefined : seal,
      host: this.timers,
      random,
      newToken,
      onError,
      atRest: () => this.#rest(),
    });
    this.client = new Client({
      calls: this.calls,
      dispatch,
      wake: async () => void (await this.engine.tick()),
      openCallback: open,
      host: this.timers,
    });
  }

  /** As a host does it: it notes that the first tick of a deployment has done its work. */
  async tick(options: TickOptions = {}): Promise<TickAnswer> {
    const answer = await this.engine.tick(options);
    if (!answer.hasSeenAll || this.deployment === undefined) return answer;
    const { name: deploymentName, id: deployment } = this.deployment;
    await this.calls.noteDeployment({ environment: this.#environment, deploymentName, deployment, note: "looked" });
    return answer;
  }

  /** Answers as the engine does: whether it could claim. Never, where the process dies over it. */
  async carryOut(turns: readonly TurnRef[]): Promise<boolean> {
    const isGroup = turns.some(isSuspect);
    this.hasGroup ||= isGroup;
    const answer = await atWork.run(this, () => this.engine.carryOut(turns));
    if (isGroup) this.hasGroup = false;
    return answer;
  }

  /**
   * Whether an invocation may begin here: what may have killed its process before is to meet none of its kind, and a
   * process whose results the database does not take claims nothing.
   */
  takes(turns: readonly TurnRef[]): boolean {
    if (this.isDead || this.isBeginning || this.engine.isHolding) return false;
    return !(this.hasGroup && turns.some(isSuspect));
  }

  die(): void {
    this.isDead = true;
    this.waiting = [];
    this.resting = 0;
    this.timers.clear();
    this.#goes();
  }

  #pass<Answer>(
    port: Port,
    what: string,
    outside: (via?: Query) => Promise<Answer>,
    parameter?: Parameter,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const act = (via?: Query) =>
        outside(via).then(
          (answer) => () => resolve(answer),
          (error: Error) => () => reject(error),
        );
      const sent = parameter === undefined ? undefined : String(parameter);
      if (!this.isDead) this.waiting.push({ port, what, parameter: sent, act, reject });
    });
  }

  #rest(): Promise<void> {
    if (this.isDead) return new Promise(() => {});
    this.resting += 1;
    return new Promise((resolve) => {
      setImmediate(() => {
        if (this.isDead) return;
        this.resting -= 1;
        resolve();
      });
    });
  }
}

/** Where nothing stands between the engine and the world outside. */
export function bare({ dispatch, alarm, isBeat }: Ports): ProcessOptions["ports"] {
  return ({ ask }) => ({
    dispatch: (turns, delayMs) => ask("dispatch", turns.map(describeTurn).join(), () => dispatch(turns, delayMs)),
    alarm: (instants) =>
      ask("alarm", instants.map(({ at }) => new Date(at).toISOString()).join(), () => alarm(instants)),
    isBeat,
  });
}

export function describeTurn(ref: TurnRef): string {
  const { turn, branch } = ref;
  const size = groupSizeOf(ref);
  const group = size === undefined ? "" : size === 1 ? " alone" : ` in a group of ${size}`;
  return `${branch === undefined ? "run" : `${branch.path}#${branch.occurrence}`}@${turn}${group}`;
}

function unanswered(): QueryError {
  return new QueryError("Postgres did not answer in time", { isRolledBack: false });
}

function functionIn(text: string): string {
  return /layover\.(\w+)/.exec(text)?.[1] ?? text;
}

/** Tokens that a test can read. How real ones are made is tested with them. */
export const seal: SealCallback = (ref) => {
  const token = Buffer.from(JSON.stringify(ref)).toString("base64url");
  return { token, url: `https://example.com/callbacks/${token}` };
};

/** It never ends: a client that does not know the database's time yet would judge that by this machine's clock. */
function open(token: string): CallbackRef | undefined {
  const { endsAt: _, ...ref } = JSON.parse(Buffer.from(token, "base64url").toString());
  return ref;
}

/**
 * One process that carries out turns: a real engine and a real client over ports at which every call waits until the
 * world lets it pass. A process that died is never heard of again: what it waited for does not come.
 */

import type { Workflow } from "layover";
import { Client } from "layover";
import type { CallbackRef, SealCallback } from "../../src/core/callback.ts";
import type { Alarm, Dispatch, Query, TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { Calls } from "../../src/postgres/calls.ts";
import { Timers } from "./timers.ts";

export type Port = "query" | "dispatch" | "alarm";

/** A call that waits at a port. */
export interface Waiting {
  readonly port: Port;
  /** The SQL function that is called, or what is dispatched or armed. */
  readonly what: string;
  /** Carries it out in the world outside, and answers how to tell the process what came of it. */
  readonly act: () => Promise<() => void>;
  readonly reject: (error: Error) => void;
}

export interface ProcessOptions
  extends Pick<
    EngineOptions,
    | "warmRuns"
    | "invocation"
    | "environment"
    | "onLog"
    | "onError"
    | "leaseMs"
    | "keepMs"
    | "keepFailedMs"
    | "requestId"
  > {
  readonly workflows: readonly Workflow[];
  /** The deployment has no public URL: callbacks cannot be made. */
  readonly hasNoAddress?: boolean | undefined;
  readonly namespace: string;
  readonly query: Query;
  readonly dispatch: Dispatch;
  readonly alarm: Alarm;
  readonly time: () => number;
  readonly random: () => number;
  readonly newToken: () => string;
}

export class Process {
  readonly engine: Engine;
  readonly client: Client;
  readonly calls: Calls;
  readonly timers: Timers;
  /** Handlers that were given their macrotask and did not have it yet. */
  resting = 0;
  isDead = false;
  /** One is under way that goes alone. */
  isAlone = false;
  /** It takes nothing yet. */
  isBeginning = false;
  waiting: Waiting[] = [];

  constructor(options: ProcessOptions) {
    const { workflows, namespace, query, dispatch, alarm, time, random, newToken, onError, hasNoAddress, ...engine } =
      options;
    this.timers = new Timers(time);
    const ported = (text: string, parameters: Parameters<Query>[1]) =>
      this.#pass("query", functionIn(text), () => query(text, parameters));
    const portedDispatch: Dispatch = (turns, delayMs) =>
      this.#pass("dispatch", turns.map(describeTurn).join(), () => dispatch(turns, delayMs));
    const portedAlarm: Alarm = (instants) =>
      this.#pass("alarm", instants.map(({ at }) => new Date(at).toISOString()).join(), () => alarm(instants));
    this.calls = new Calls({
      query: Object.assign(ported, { endpoint: query.endpoint }),
      namespace,
      alarm: portedAlarm,
      host: this.timers,
    });
    this.engine = new Engine({
      ...engine,
      calls: this.calls,
      dispatch: portedDispatch,
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
      dispatch: portedDispatch,
      wake: async () => void (await this.engine.tick()),
      openCallback: open,
      host: this.timers,
    });
  }

  carryOut(turns: readonly TurnRef[]): void {
    const isAlone = turns.some(({ alone }) => alone);
    this.isAlone ||= isAlone;
    void this.engine.carryOut(turns).then(() => {
      if (isAlone) this.isAlone = false;
    });
  }

  /** Whether an invocation may begin here: what may have killed its process before is to meet none of its kind. */
  takes(turns: readonly TurnRef[]): boolean {
    return !this.isDead && !this.isBeginning && !(this.isAlone && turns.some(({ alone }) => alone));
  }

  die(): void {
    this.isDead = true;
    this.waiting = [];
    this.resting = 0;
    this.timers.clear();
  }

  #pass<Answer>(port: Port, what: string, outside: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const act = () =>
        outside().then(
          (answer) => () => resolve(answer),
          (error: Error) => () => reject(error),
        );
      if (!this.isDead) this.waiting.push({ port, what, act, reject });
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

function describeTurn({ turn, branch, alone }: TurnRef): string {
  return `${branch === undefined ? "run" : `${branch.path}#${branch.occurrence}`}@${turn}${alone ? " alone" : ""}`;
}

function functionIn(text: string): string {
  return /layover\.(\w+)/.exec(text)?.[1] ?? text;
}

/** Tokens that a test can read. How real ones are made is tested with them. */
export const seal: SealCallback = (ref) => {
  const token = Buffer.from(JSON.stringify(ref)).toString("base64url");
  return { token, url: `https://example.com/callbacks/${token}` };
};

function open(token: string): CallbackRef | undefined {
  return JSON.parse(Buffer.from(token, "base64url").toString());
}

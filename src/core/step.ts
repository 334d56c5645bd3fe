/**
 * What a handler does durably, through `step`. Every verb names its step; a run replayed after a crash goes through the
 * same names and gets the recorded results.
 */
import type { Duration } from "./duration.ts";
import type { RetryPolicy } from "./retry.ts";
import type { InferOutput, Schemas } from "./schema.ts";

export interface StepOptions {
  /** Default: 5 attempts, 1 s, doubling up to 5 min, with full jitter. */
  readonly retry?: RetryPolicy;
  /** How long one attempt may take; then its `abortSignal` fires and the attempt has failed. Default: 60 s. */
  readonly timeout?: Duration;
}

/** What the body of a step is given. */
export interface StepContext {
  /** Counted from 1. */
  readonly attempt: number;
  /** The same for every attempt of this step: hand it to the service that you call. */
  readonly idempotencyKey: string;
  /** Fires at the step's timeout. */
  readonly abortSignal: AbortSignal;
}

export interface WaitOptions {
  /** How long to wait. Default: for ever. */
  readonly timeout?: Duration;
  /** What a timeout does: throws `TimeoutError`, or gives null. */
  readonly onTimeout?: "throw" | "null";
}
/** A wait that gives null at its timeout instead of throwing. */
export type NullableWait = WaitOptions & { readonly onTimeout: "null" };

export interface MapOptions {
  /** How many bodies may run at a time. Default: no bound. */
  readonly maxConcurrency?: number;
}

/** A callback that an outside system may answer once. */
export interface Callback<Answer> {
  /** Where to POST the answer. Secret: who has it can answer. */
  readonly url: string;
  readonly token: string;
  wait(options: NullableWait): Promise<Answer | null>;
  wait(options?: WaitOptions): Promise<Answer>;
}

/** What the body that announces a callback is given. */
export interface CallbackContext extends StepContext {
  readonly url: string;
  readonly token: string;
}

/** One branch of `all` or `race`, with steps of its own. */
export type Branch<Signals extends Schemas, Callbacks extends Schemas, Result> = (context: {
  readonly step: Step<Signals, Callbacks>;
}) => Promise<Result>;
export type Branches<Signals extends Schemas, Callbacks extends Schemas, Results extends readonly unknown[]> = {
  readonly [Index in keyof Results]: Branch<Signals, Callbacks, Results[Index]>;
};

export type Settled<Result> =
  | { readonly status: "fulfilled"; readonly value: Result }
  | { readonly status: "rejected"; readonly reason: unknown };

export interface Step<Signals extends Schemas = Schemas, Callbacks extends Schemas = Schemas> {
  /**
   * Runs `body` at least once and records its result exactly once. Throws `StepError` after the last attempt.
   *
   * @example const charge = await step.run("charge", ({ idempotencyKey }) => pay(order, idempotencyKey));
   */
  run<Result>(
    name: string,
    body: (context: StepContext) => Result | Promise<Result>,
    options?: StepOptions,
  ): Promise<Result>;
  sleep(name: string, duration: Duration): Promise<void>;
  sleepUntil(name: string, instant: Date | number): Promise<void>;
  /** Takes the next signal of that name, in order of arrival; also one that came before anyone waited. */
  waitForSignal<Name extends keyof Signals & string>(
    name: Name,
    options: NullableWait,
  ): Promise<InferOutput<Signals[Name]> | null>;
  waitForSignal<Name extends keyof Signals & string>(
    name: Name,
    options?: WaitOptions,
  ): Promise<InferOutput<Signals[Name]>>;
  /** Makes a one-time URL by which an outside system answers. */
  createCallback<Name extends keyof Callbacks & string>(name: Name): Callback<InferOutput<Callbacks[Name]>>;
  /** Announces a callback by a step (`announce` gets its URL), then waits for the answer. */
  waitForCallback<Name extends keyof Callbacks & string>(
    name: Name,
    announce: (context: CallbackContext) => unknown,
    options: NullableWait & StepOptionsOfAnnouncement,
  ): Promise<InferOutput<Callbacks[Name]> | null>;
  waitForCallback<Name extends keyof Callbacks & string>(
    name: Name,
    announce: (context: CallbackContext) => unknown,
    options?: WaitOptions & StepOptionsOfAnnouncement,
  ): Promise<InferOutput<Callbacks[Name]>>;
  /** A room of its own for names. */
  scope<Result>(name: string, inside: Branch<Signals, Callbacks, Result>): Promise<Result>;
  /** Like `Promise.all`, each branch with steps of its own. */
  all<const Results extends readonly unknown[]>(
    name: string,
    branches: Branches<Signals, Callbacks, Results>,
  ): Promise<Results>;
  /** The first branch to settle wins; the others are released: no new attempts, no later signal. */
  race<const Results extends readonly unknown[]>(
    name: string,
    branches: Branches<Signals, Callbacks, Results>,
  ): Promise<Results[number]>;
  /** Carries out `each` for every item side by side; the results in the items' order. The first failure rejects. */
  map<Item, Result>(
    name: string,
    items: readonly Item[],
    each: (item: Item, context: { readonly step: Step<Signals, Callbacks>; readonly index: number }) => Promise<Result>,
    options?: MapOptions,
  ): Promise<Result[]>;
  /** Like `map`, but waits for all and tells of each how it ended. */
  mapSettled<Item, Result>(
    name: string,
    items: readonly Item[],
    each: (item: Item, context: { readonly step: Step<Signals, Callbacks>; readonly index: number }) => Promise<Result>,
    options?: MapOptions,
  ): Promise<Settled<Result>[]>;
  /** The time of the last recorded result: the same in every replay. */
  now(): Date;
  /** A number in [0, 1): the same in every replay. */
  random(): number;
  /** A uuid: the same in every replay. */
  uuid(): string;
}

export interface StepOptionsOfAnnouncement {
  /** For the step that announces. */
  readonly retry?: RetryPolicy;
}

export interface RunInfo {
  /** Our id of the run (uuid v7). */
  readonly runId: string;
  /** The user's own id, if one was given. */
  readonly id: string | undefined;
  readonly workflow: string;
  readonly version: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: Date;
}

/** Writes a line once per execution, not once per replay. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

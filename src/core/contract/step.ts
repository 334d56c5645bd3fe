/**
 * What a handler does durably, through `step`. Every verb names its step; a run replayed after a crash goes through the
 * same names and gets the recorded results. The file is long since it is the reference of all verbs: each one's options
 * and errors stand beside its type.
 */
import type { ErrorValue } from "../codec/error-value.ts";
import type { Duration } from "../duration.ts";
import type { TransactionClient } from "../ports.ts";
import type { RetryPolicy } from "./retry.ts";
import type { InferOutput, Schemas } from "./schema.ts";
import type { ResultOf, StartArguments, Startable } from "./startable.ts";
import type { Storable } from "./storable.ts";

export interface StepOptions {
  /** Default: 5 attempts, 1 s, doubling up to 5 min, with full jitter. With `semantics: "at-most-once"`: 1 attempt. */
  readonly retry?: RetryPolicy;
  /**
   * How often an attempt is carried out if its process dies. Default: `"at-least-once"`, again until its result is
   * recorded.
   *
   * `"at-most-once"` is for a service that takes no idempotency key. One call to the database more writes down that the
   * attempt begins, before its body begins. If its process then dies or loses the step, the attempt has failed with the
   * code `interrupted`, and nobody knows whether the body had its effect. So the step throws a `StepError` whose
   * `cause.code` is `interrupted`; only with `retry` is there another attempt. `compensate` is owed as for a step that
   * failed.
   *
   * @example await step.run("fax", () => fax(letter), { semantics: "at-most-once" });
   */
  readonly semantics?: "at-least-once" | "at-most-once";
  /**
   * How long one attempt may take. Default: 60 s. After that its `abortSignal` fires and the attempt has failed. If the
   * body runs on nevertheless, the next attempt waits for it, as long as both are in one process.
   */
  readonly timeout?: Duration;
  /**
   * A text that tells this step from others of its name in its scope, so that they are not counted. In a loop it is the
   * id of the item. Two equal keys in one scope are refused. Adding keys to code that has parked runs is a new version
   * of the workflow.
   *
   * @example for (const region of regions) await step.run("charge", () => charge(region), { key: region });
   */
  readonly key?: string;
  /** Whether the path has a digest of the key, so that histories do not show the key. Default: false. */
  readonly sensitiveKey?: boolean;
  /**
   * Whether nobody is shown the step's result: no page, list or export has it. The handler gets it. An error that the body throws is
   * shown: put no secret into its message. Default: false.
   */
  readonly sensitive?: boolean;
}

/** What the body of a step is given. */
export interface StepContext {
  /** Counted from 1. */
  readonly attempt: number;
  /** The same for every attempt of this step: hand it to the service that you call. */
  readonly idempotencyKey: string;
  /**
   * Fires at the step's timeout, at the run's timeout or cancel, when the run has failed and is about to undo what it did,
   * and when somebody else has taken over the step.
   */
  readonly abortSignal: AbortSignal;
}

/** What an undo is given, besides the step's result. */
export interface UndoContext<Original = { readonly idempotencyKey: string }> extends StepContext {
  /** `unknown`: the step failed, or was begun and never ended. It may have had its effect. */
  readonly outcome: "succeeded" | "unknown";
  /** How the step failed, or the last of its attempts, where that is known: then without its stack and its data. */
  readonly error: ErrorValue | undefined;
  /** What the step's own body was given. Of `step.invoke`: the id of the run. */
  readonly original: Original;
}

/** Undoes a step. `result`: what the step returned; undefined where its outcome is unknown. */
export type Undo<Result, Original = { readonly idempotencyKey: string }> = (
  result: Result | undefined,
  context: UndoContext<Original>,
) => unknown;

/** An undo, and how it is tried. `timeout`: how long one attempt may take. */
export type Compensate<Result, Original = { readonly idempotencyKey: string }> =
  | Undo<Result, Original>
  | { readonly run: Undo<Result, Original>; readonly retry?: RetryPolicy; readonly timeout?: Duration };

export interface RunOptions<Result> extends StepOptions {
  /**
   * Undoes the step if the run fails, times out or is cancelled. What came last is undone first, one undo after the other,
   * after the handler and its cleanups have ended. A completed run undoes nothing, and neither does `terminate`.
   *
   * A step is undone if it succeeded, and also if it failed or was begun and has no result, since it may have had its
   * effect. An undo is a step of its own, at `[undo]/` and the path of the step. By default it is tried for 24 hours, with
   * pauses of up to 10 minutes. If it fails for good, the others are still carried out, and the run's error tells of it
   * (`data.compensation.failed`).
   *
   * An undo must void or occupy the step's own idempotency key (`original.idempotencyKey`), since a body that seems dead may
   * still act. A step in a cleanup has no undo.
   *
   * @example await step.run("charge", pay, { compensate: (_, { original }) => refund(original.idempotencyKey) });
   */
  readonly compensate?: Compensate<Result>;
}

export interface WaitOptions {
  /** How long to wait. Default: for ever. */
  readonly timeout?: Duration;
  /** What a timeout does: throws `TimeoutError`, or gives null. */
  readonly onTimeout?: "throw" | "null";
}
/** A wait that gives null at its timeout instead of throwing. */
export type NullableWait = WaitOptions & { readonly onTimeout: "null" };

export interface MapOptions<Item = unknown> {
  /**
   * How many bodies of steps may run at a time, and how many runs that `step.invoke` starts may be waited for at a time.
   * Each is counted by itself. The next run is started when one has ended, and its `timeout` counts from there. Default: no
   * bound.
   */
  readonly maxConcurrency?: number;
  /**
   * Makes a key of each item, so that items are told apart by their keys and not by their index. Then a deploy may
   * change the list. Two equal keys are refused. Adding keys to code that has parked runs is a new version of the
   * workflow.
   *
   * @example await step.map("ship", items, send, { key: (item) => item.id });
   */
  readonly key?: (item: Item, index: number) => string;
  /** Whether the paths have digests of the keys, so that histories do not show the keys. Default: false. */
  readonly sensitiveKey?: boolean;
}

/** How a run is started from another one. */
export interface NewRunOptions {
  /**
   * Your own id of the new run, unique among the runs of its workflow while they are kept. If another run has it, the
   * start fails with a StepError whose `cause.code` is `conflict`.
   */
  readonly id?: string;
  /** Up to 50 names with a value each, to find the run by. */
  readonly tags?: Readonly<Record<string, string>>;
}
export interface InvokeOptions<Result = unknown> extends NewRunOptions {
  /** How long to wait for the end of the run. Default: for ever. */
  readonly timeout?: Duration;
  /**
   * What becomes of the run when this one waits for it no more: at the end of this run, at its cancel, after `timeout`, or
   * when a `race` is lost. `"cancel"` asks the run to end: it cleans up and undoes what it did. The undos of this run
   * wait for that, for a day at most. `"abandon"` lets it go on. Default: `"cancel"`.
   */
  readonly onParentEnd?: "cancel" | "abandon";
  /**
   * Undoes what the run did if this run fails, times out or is cancelled, as the `compensate` of `step.run` does. It is
   * given the run's result. Where the run failed, was cancelled, was not over within `timeout` or before the undos began,
   * `outcome` is `unknown`. `original.runId` is the run's id. A run that was never started is not undone.
   *
   * @example await step.invoke("book", booking, trip, { compensate: (booked) => booked && cancelBooking(booked.id) });
   */
  readonly compensate?: Compensate<Result, { readonly runId: string }>;
}

/**
 * The two texts that a person reads on the page of a callback. Both stand in the callback's URL, so put no secret into
 * them. Three characters of them make the URL four characters longer.
 */
export interface Question {
  /** Up to 200 characters. Default: the callback's name. */
  readonly title?: string;
  /** Up to 1,000 bytes in UTF-8, with line breaks. */
  readonly text?: string;
}

/** A callback that an outside system may answer once. */
export interface Callback<Answer> {
  /** The URL to POST the answer to. It is secret: whoever has it can answer. */
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
export type Branch<Signals extends Schemas, Callbacks extends Schemas, Result, Status = unknown> = (context: {
  readonly step: Step<Signals, Callbacks, unknown, Status>;
}) => Promise<Result>;
export type Branches<
  Signals extends Schemas,
  Callbacks extends Schemas,
  Results extends readonly unknown[],
  Status = unknown,
> = {
  readonly [Index in keyof Results]: Branch<Signals, Callbacks, Results[Index], Status>;
};

/** How one item of `mapSettled` ended, as `Promise.allSettled` tells it. */
export type Settled<Result> =
  | { readonly status: "fulfilled"; readonly value: Result }
  | { readonly status: "rejected"; readonly reason: unknown };

/**
 * What a handler does its work by. Names (1–200 printable characters, none of `/[]#`) tell the steps apart; those of one
 * name in one scope are counted. Nothing else that differs from one execution to the next belongs in a handler.
 */
export interface Step<
  Signals extends Schemas = Schemas,
  Callbacks extends Schemas = Schemas,
  Input = unknown,
  Status = unknown,
> {
  /**
   * Runs `body` at least once and records its result exactly once. The result is any value that can be stored, up to
   * 1 MiB. By default 5 attempts of 60 s each, with pauses from 1 s, doubling up to 5 min. `compensate` undoes the step if
   * the run fails or is cancelled.
   *
   * @throws StepError after the last attempt
   * @example const charge = await step.run("charge", ({ idempotencyKey }) => pay(order, idempotencyKey));
   */
  run<Result>(
    name: string,
    body: ((context: StepContext) => Result | Promise<Result>) & Storable<Result>,
    options?: RunOptions<NoInfer<Result>>,
  ): Promise<Result>;
  /**
   * Writes to the database in which layover's own tables are: what `body` writes and the step's record are committed
   * together, so **exactly once**. A transaction that cannot be committed is rolled back, and the attempt has failed. A
   * deadlock, or another transaction in the way (40P01, 40001, 55P03), never fails the step for good.
   *
   * The isolation is read committed. Do nothing else in the body, since all that is no write of this transaction may happen
   * again, and keep it short, since it holds a connection. By `layover/neon` all is sent at once when the body has ended, so
   * only `db.write` works there; by `layover/pg` with a Pool and by `layover/pglite` also `db.query`, which answers rows. It
   * has no `compensate`, since one that fails leaves nothing behind: undo it by another step.
   *
   * @throws StepError after the last attempt; its `cause.code` is `transactions_unavailable` where the database cannot do it
   * @example await step.transaction("book", async (db) => db.write("insert into booking (id) values ($1)", [input.id]));
   */
  transaction<Result>(
    name: string,
    body: ((database: TransactionClient, context: StepContext) => Promise<Result>) & Storable<Result>,
    options?: Omit<StepOptions, "semantics">,
  ): Promise<Result>;
  /** Waits up to 10 years. Nothing runs meanwhile. @example await step.sleep("cool off", "1 hour"); */
  sleep(name: string, duration: Duration): Promise<void>;
  /** A number is epoch milliseconds; the past is now. @example await step.sleepUntil("due", input.dueAt); */
  sleepUntil(name: string, instant: Date | number): Promise<void>;
  /**
   * Takes the next signal of that name, in order of arrival; also one that came before anyone waited.
   *
   * @throws TimeoutError after `timeout`; with `onTimeout: "null"` it gives null instead
   * @example const address = await step.waitForSignal("address", { timeout: "3 days" });
   */
  waitForSignal<Name extends keyof Signals & string>(
    name: Name,
    options: NullableWait,
  ): Promise<InferOutput<Signals[Name]> | null>;
  waitForSignal<Name extends keyof Signals & string>(
    name: Name,
    options?: WaitOptions,
  ): Promise<InferOutput<Signals[Name]>>;
  /**
   * Closes the name of a signal, unless a signal of that name is there and was not taken. True: the name is closed; who
   * sends such a signal from now on is refused. False: take the signal that is there, and call `close` again. So the
   * end of a run loses no signal that was accepted.
   *
   * @example do { while (await take(step)); } while (!(await step.close("item")));
   */
  close<Name extends keyof Signals & string>(name: Name): Promise<boolean>;
  /**
   * Makes a one-time URL by which an outside system answers. The URL opens the callback for a year.
   *
   * @example const approval = step.createCallback("approval");
   */
  createCallback<Name extends keyof Callbacks & string>(
    name: Name,
    question?: Question,
  ): Callback<InferOutput<Callbacks[Name]>>;
  /**
   * Announces a callback by a step (`announce` gets its URL), then waits for the answer.
   *
   * A person who opens the URL reads `title` and `text`. The URL works until a month after the deadline of the wait;
   * without a `timeout`, for a year.
   *
   * @throws CallbackRejectedError; TimeoutError after `timeout`, or null with `onTimeout: "null"`; StepError
   * @example const { ok } = await step.waitForCallback("approval", ({ url }) => email(url), { timeout: "3 days" });
   */
  waitForCallback<Name extends keyof Callbacks & string>(
    name: Name,
    announce: (context: CallbackContext) => unknown,
    options: NullableWait & StepOptionsOfAnnouncement & Question,
  ): Promise<InferOutput<Callbacks[Name]> | null>;
  waitForCallback<Name extends keyof Callbacks & string>(
    name: Name,
    announce: (context: CallbackContext) => unknown,
    options?: WaitOptions & StepOptionsOfAnnouncement & Question,
  ): Promise<InferOutput<Callbacks[Name]>>;
  /**
   * Starts a run of another workflow, or of this one, exactly once, and does not wait for it. The new run's end and this
   * one's do not concern each other. A run may start 10,000 others in a history; a chain of runs, each started by the one before, may
   * be 1,000 long.
   *
   * @throws StepError whose `cause.code` is `conflict` if the `id` is taken, or `invalid_input`, `too_many_children`, `chain_too_long`
   * @example const { runId } = await step.start("audit", audit, { order: input.id });
   */
  start<C extends Startable>(
    name: string,
    contract: C,
    ...args: StartArguments<C, NewRunOptions>
  ): Promise<{ readonly runId: string }>;
  /**
   * Starts a run of another workflow, or of this one, exactly once, and waits for its result. Nothing runs meanwhile. Up to
   * 20 runs may wait for each other so.
   *
   * @throws ChildFailedError if the run failed or was cancelled; TimeoutError after `timeout`; StepError as `start`
   * @example const invoice = await step.invoke("invoice", invoiceContract, { order: input.id });
   */
  invoke<C extends Startable>(
    name: string,
    contract: C,
    ...args: StartArguments<C, InvokeOptions<ResultOf<C>>>
  ): Promise<ResultOf<C>>;
  /** A namespace: names of steps may be used again in it. @example await step.scope("refund", ({ step }) => refund(step, charge)); */
  scope<Result>(name: string, inside: Branch<Signals, Callbacks, Result, Status>): Promise<Result>;
  /**
   * A namespace for steps that also run when the run is cancelled, at its timeout, or when its history is full. All else
   * that a handler asks for then is refused with a `CancelledError`, and so is what it waits for. All cleanups of a run have
   * one hour, and room in a full history. A cleanup that is under way when an error leaves the handler goes on to its end, too;
   * not that of a branch which has lost its race.
   *
   * @example try { await use(step, lock); } finally { await step.cleanup("give back", ({ step }) => step.run("unlock", () => unlock(lock))); }
   */
  cleanup<Result>(
    name: string,
    inside: (context: { readonly step: CleanupStep<Status> }) => Promise<Result>,
  ): Promise<Result>;
  /**
   * Carries out branches side by side, each with steps of its own: all results, or the first failure.
   *
   * @example const [a, b] = await step.all("both", [({ step }) => step.run("a", getA), ({ step }) => step.run("b", getB)]);
   */
  all<const Results extends readonly unknown[]>(
    name: string,
    branches: Branches<Signals, Callbacks, Results, Status>,
  ): Promise<Results>;
  /**
   * The first branch to settle wins; the others are released: no new attempts, no later signal. What they did stays done,
   * unless the run fails or is cancelled: then it is undone (`compensate`), too.
   *
   * @example await step.race("paid or late", [({ step }) => step.waitForSignal("paid"), ({ step }) => step.sleep("late", "1d")]);
   */
  race<const Results extends readonly unknown[]>(
    name: string,
    branches: Branches<Signals, Callbacks, Results, Status>,
  ): Promise<Results[number]>;
  /**
   * Carries out `each` for every item side by side; the results in the items' order. The first failure rejects.
   *
   * @example await step.map("ship", items, (item, { step }) => step.run("send", () => ship(item)), { maxConcurrency: 5 });
   */
  map<Item, Result>(
    name: string,
    items: readonly Item[],
    each: (
      item: Item,
      context: { readonly step: Step<Signals, Callbacks, unknown, Status>; readonly index: number },
    ) => Promise<Result>,
    options?: MapOptions<NoInfer<Item>>,
  ): Promise<Result[]>;
  /** Does what `map` does, but waits for all items and tells how each ended. @example (await step.mapSettled("try", items, each))[0]?.status */
  mapSettled<Item, Result>(
    name: string,
    items: readonly Item[],
    each: (
      item: Item,
      context: { readonly step: Step<Signals, Callbacks, unknown, Status>; readonly index: number },
    ) => Promise<Result>,
    options?: MapOptions<NoInfer<Item>>,
  ): Promise<Settled<Result>[]>;
  /**
   * Ends this history of the run, and begins the next one with another input: the same run, with its id, its mail, its tags
   * and its timeout. What the handler still waits for is dropped, as at the end of a run, and nothing is undone. It never
   * settles, so no `finally` runs. Use it before a history grows too long (10,000 records).
   *
   * A run that continues again and again without ever waiting, each time within a second, is slowed down: it begins a
   * second after the last beginning, then two, four … up to a minute. The event `run_slowed`, a warning of the log, tells so.
   *
   * @throws LayoverError `invalid_input`, `unstorable_value`; CancelledError while the run closes
   * @example if (step.now() > endOfMonth) await step.continueAsNew({ month: input.month + 1 });
   */
  continueAsNew(...args: undefined extends Input ? [input?: Input] : [input: Input]): Promise<never>;
  /**
   * Sets what the run says of itself, for people who look at it (`customStatus`). Any value that can be stored, up to
   * 1 KiB. It is stored with the end of the turn, or while a body takes its time, and leaves no record. The value that
   * was set last stays, also when the run is over: what a replay sets again is ignored. The body of a step may call it, too.
   * If the contract has a `status`, what that makes of the value is stored.
   *
   * @throws LayoverError `invalid_status` if the value does not fit the contract's `status`; `value_too_large`, `unstorable_value`
   * @example step.setStatus({ packed: 3, of: 10 });
   */
  setStatus<Value extends Status>(value: Value & Storable<Value>): void;
  /**
   * Tells whether this run may take a new path of changed code, so that runs under way go on by the code that they began
   * with. True where no code before has been: in new runs, and in a run that gets here only now. The answer is kept with the
   * run, so it is the same in every replay. In a loop it is false for the laps before that, and true from there on. `name`
   * is the name of the change; the same name in another scope is another change.
   *
   * Remove the call and the old path once no run is left that began before the change. Code of before must not get the run
   * afterwards.
   *
   * @example if (step.patched("check stock first")) await step.run("check stock", check);
   */
  patched(name: string): boolean;
  /** The time of the last recorded result: the same in every replay. @example const year = step.now().getFullYear(); */
  now(): Date;
  /** A number in [0, 1): the same in every replay. @example const isSampled = step.random() < 0.01; */
  random(): number;
  /** A uuid: the same in every replay. @example const invoice = step.uuid(); */
  uuid(): string;
}

/** The `step` of a cleanup. It has no verb that waits for a signal, a callback or another run. */
export interface CleanupStep<Status = unknown>
  extends Pick<
    Step<Schemas, Schemas, unknown, Status>,
    "transaction" | "sleep" | "sleepUntil" | "setStatus" | "patched" | "now" | "random" | "uuid"
  > {
  /** As in a handler, but for `compensate`: a cleanup is not undone. */
  run<Result>(
    name: string,
    body: ((context: StepContext) => Result | Promise<Result>) & Storable<Result>,
    options?: StepOptions,
  ): Promise<Result>;
  scope<Result>(
    name: string,
    inside: (context: { readonly step: CleanupStep<Status> }) => Promise<Result>,
  ): Promise<Result>;
}

export interface StepOptionsOfAnnouncement {
  /** The retries of the step that announces. */
  readonly retry?: RetryPolicy;
}

/** The run that a handler is in. */
export interface RunInfo {
  /** Our id of the run (uuid v7). */
  readonly runId: string;
  /** The user's own id, if one was given. */
  readonly id: string | undefined;
  readonly workflow: string;
  readonly version: number;
  /** Our id of the run that has started this one. Undefined: a client has. */
  readonly parentRunId: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  /** When it was created. A run whose start has a delay begins later, and what it waits for reckons from then. */
  readonly createdAt: Date;
}

/** Writes a line once per execution, not once per replay. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

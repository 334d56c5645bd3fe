/**
 * Starts runs, looks at them and talks to them, by calls to the database (what each verb does is said in verbs.ts). The
 * same verbs stand behind HTTP.
 *
 *   const run = await client.start(order, input, { id: input.id });
 *   await run.signal("address", address);
 *   const { charge } = await run.result({ wait: "30s" });
 *
 * Each verb makes its ids once and sends them again when it has to try again, so it may be repeated. A database that
 * cannot be reached is a LayoverError `database_unavailable`.
 */
import { v7 } from "uuid";
import type { CallbackRef, OpenCallback, SealCallback } from "../../core/contract/callback.ts";
import type { Contract, SignalsOf } from "../../core/contract/contract.ts";
import type { InferInput } from "../../core/contract/schema.ts";
import { toMilliseconds } from "../../core/duration.ts";
import { LayoverError } from "../../core/errors.ts";
import { defaultLimits, type Limits } from "../../core/limits.ts";
import { checkName } from "../../core/names.ts";
import type { Dispatch, HostClock, Query } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";
import { limited } from "../../postgres/dispatch-limit.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import type { CallbackCall, RunKey, StartAnswer, StartCall, Unknown, WireRunView } from "../../postgres/wire-verbs.ts";
import {
  type CallbackInputOf,
  type CallbackView,
  encodedAnswer,
  encodedPayload,
  encodedRejection,
  endedLink,
  type Rejection,
  refuseUnanswered,
  sentSignal,
  unknownCallback,
} from "../answering.ts";
import { callbackTokenIn } from "../callback-token.ts";
import { resultOf } from "../ending.ts";
import { type HistoryOptions, type HistoryView, historyPage, historyView } from "../history-view.ts";
import { type ListOptions, listCall, type Page, pageOf } from "../listing.ts";
import { Run, type SignalOptions, type SignalReceipt, type WaitOptions } from "../run.ts";
import { checkSignalId, knownRunId, unknownRun } from "../run-id.ts";
import { dateOf, type RunEnding, type RunView, runView } from "../run-view.ts";
import { type StartArguments, type StartInOptions, type StartOptions, startCall, startedRunId } from "../starting.ts";
import type { ClientVerbs } from "../verbs.ts";
import { untilOver } from "../waiting.ts";
import { translated } from "./failure.ts";

export interface ClientOptions {
  readonly calls: Calls;
  readonly dispatch: Dispatch;
  /** Has a tick happen now. */
  readonly wake: () => Promise<void>;
  /** Opens a callback's token. Without it this client answers no callbacks. */
  readonly openCallback?: OpenCallback | undefined;
  /** Makes the links to callbacks. Without it this client makes none. */
  readonly sealCallback?: SealCallback | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly host?: HostClock | undefined;
  /** Told of what was lost without harm: a dispatch that failed. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** How many starts within transactions are remembered for `wake`. Other such runs begin when their alarms ring. */
const mostStartedIn = 1_000;

/** Longer delays are left to the alarm, which rings at most 2 minutes late. */
const longestDispatchMs = 120_000;

/**
 * The client of a process that has the database. The `serve` of Node answers one; without the database, use the
 * HttpClient of `layover/client`.
 *
 * @example const run = await client.start(order, { amount: 42 }, { id: "o1" });
 */
export class Client implements ClientVerbs {
  readonly #options: ClientOptions;
  readonly #calls: Calls;
  readonly #dispatch: Dispatch;
  readonly #wake: () => Promise<void>;
  readonly #openCallback: OpenCallback | undefined;
  readonly #limits: Limits;
  readonly #host: HostClock;
  readonly #onError: (error: unknown) => void;
  /** Runs that were started in the user's own transactions since the last `wake`. */
  readonly #startedIn = new Set<string>();

  constructor(options: ClientOptions) {
    const { calls, dispatch, wake, openCallback, limits, host = hostClock, onError = () => {} } = options;
    this.#options = options;
    this.#calls = calls;
    this.#dispatch = limited(dispatch, host);
    this.#wake = wake;
    this.#openCallback = openCallback;
    this.#limits = { ...defaultLimits, ...limits };
    this.#host = host;
    this.#onError = onError;
  }

  async start<C extends Contract>(contract: C, ...args: StartArguments<C, StartOptions>): Promise<Run<C>> {
    const [input, options = {}] = args;
    const call = await this.#startCall(contract, input, options);
    const answer = await translated(() => this.#calls.startRun(call));
    const runId = startedRunId(call, answer);
    if (answer.outcome === "started") await this.#hintStart(call, answer);
    return new Run(this, contract, { runId, isNew: answer.outcome === "started", version: versionIn(answer, call) });
  }

  /**
   * Starts a run inside your own transaction. The run exists once the transaction commits. It begins when its alarm
   * rings, about a minute after `commitWithin`. To have it begin at once, call `wake()` of this client after the
   * COMMIT.
   *
   * @example await client.startIn(pg(connection), order, input, { id, commitWithin: "10s" });
   */
  async startIn<C extends Contract>(
    transaction: Query,
    contract: C,
    ...args: StartArguments<C, StartInOptions>
  ): Promise<Run<C>> {
    const [input, { commitWithin = "30s", ...options } = {}] = args;
    const commitWithinMs = toMilliseconds(commitWithin, { field: "commitWithin" });
    const call = { ...(await this.#startCall(contract, input, options)), commitWithinMs };
    const answer = await translated(() => this.#calls.startRunIn(transaction, call));
    const runId = startedRunId(call, answer);
    if (answer.outcome === "started") this.#rememberStart(runId);
    return new Run(this, contract, { runId, isNew: answer.outcome === "started", version: versionIn(answer, call) });
  }

  run<C extends Contract>(contract: C, runId: string): Run<C> {
    return new Run(this, contract, { runId, isNew: false });
  }

  async runById<C extends Contract>(contract: C, id: string): Promise<Run<C>> {
    const { runId } = await this.#get({ workflow: contract.name, id: checkName(id, "id"), longestInput: 0 });
    return new Run(this, contract, { runId, isNew: false });
  }

  async get(runId: string): Promise<RunView> {
    return runView(await this.#get({ runId: knownRunId(runId) }));
  }

  async list(options: ListOptions = {}): Promise<Page> {
    const call = listCall(options);
    return pageOf(call, await translated(() => this.#calls.listRuns(call)));
  }

  async history(runId: string, options: HistoryOptions = {}): Promise<HistoryView> {
    const key = { runId: knownRunId(runId) };
    const page = historyPage(options);
    return historyView(found(await translated(() => this.#calls.getHistory({ ...key, ...page })), key), page);
  }

  async result(runId: string, options: WaitOptions = {}): Promise<unknown> {
    return resultOf(await this.settle(runId, options), options.wait);
  }

  async settle(runId: string, { wait, abortSignal }: WaitOptions = {}): Promise<RunEnding> {
    const key = { runId: knownRunId(runId), longestInput: 0 };
    const waitMs = wait === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(wait, { field: "wait" });
    return runView(await untilOver(() => this.#get(key), { waitMs, host: this.#host, abortSignal }));
  }

  async signal<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    run: string | { readonly id: string },
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalOptions & { readonly contract: C },
  ): Promise<SignalReceipt> {
    const { contract, dedupeId, signalId = v7() } = options;
    const key = typeof run === "string" ? { runId: knownRunId(run) } : { id: checkName(run.id, "id") };
    const call = {
      ...key,
      workflow: contract.name,
      name,
      encodedPayload: await encodedPayload(contract, name, payload, this.#limits.valueBytes),
      signalId: checkSignalId(signalId),
      ...(dedupeId !== undefined && { dedupeId: checkName(dedupeId, "dedupeId") }),
    };
    const answer = found(await translated(() => this.#calls.sendSignal(call)), call);
    const outcome = sentSignal(answer, name);
    if (outcome === "sent" && "turn" in answer) await this.#hint(answer.runId, answer.turn, 0);
    return { runId: answer.runId, outcome };
  }

  /** Reads which wait a token answers. Sends no statement. @throws LayoverError `unknown_callback`, `callback_expired` */
  openCallback(token: string): CallbackRef {
    if (this.#openCallback === undefined) {
      throw new LayoverError("invalid_secret", "this client has no secrets, so it cannot open a callback's token", {
        hint: "Give it the root secret that the tokens are signed with.",
      });
    }
    const ref = this.#openCallback(callbackTokenIn(token));
    if (ref === undefined) throw unknownCallback();
    const { clock } = this.#calls;
    const now = clock.isKnown ? clock.now() : Date.now();
    if (ref.endsAt !== undefined && ref.endsAt <= now) throw endedLink(ref.name);
    return ref;
  }

  /** Makes a token of that wait, and the URL that answers it. @throws LayoverError `callbacks_unavailable` */
  sealCallback(ref: CallbackRef): ReturnType<SealCallback> {
    const { sealCallback } = this.#options;
    if (sealCallback !== undefined) return sealCallback(ref);
    throw new LayoverError("callbacks_unavailable", "this client has no public URL or no secret to make links with", {
      hint: "Set publicUrl and secrets where the workflows are served.",
    });
  }

  /** The database's time, in epoch milliseconds. */
  now(): Promise<number> {
    return translated(() => this.#calls.now());
  }

  async callback(token: string): Promise<CallbackView> {
    const { runId, epoch, path, occurrence, endsAt: _, ...asked } = this.openCallback(token);
    const { outcome, until } = await translated(() => this.#calls.readCallback({ runId, epoch, path, occurrence }));
    if (outcome === "unknown") throw unknownCallback();
    return { ...asked, status: outcome, deadline: dateOf(until) };
  }

  async resolveCallback<C extends Contract>(
    token: string,
    value: CallbackInputOf<C>,
    { contract }: { contract: C },
  ): Promise<void> {
    const ref = this.openCallback(token);
    await this.#answer(ref, "resolved", await encodedAnswer(contract, ref, value, this.#limits.valueBytes));
  }

  async rejectCallback(token: string, reason: Rejection): Promise<void> {
    await this.#answer(this.openCallback(token), "rejected", { value: encodedRejection(reason) });
  }

  async wake(): Promise<void> {
    await translated(() => this.#calls.checkKey());
    await translated(this.#wake);
    const started = [...this.#startedIn];
    this.#startedIn.clear();
    for (const runId of started) await this.#hint(runId, 1, 0);
  }

  /** Remembers the run for `wake`. A tick finds it only when its alarm rings, and that is later than `commitWithin`. */
  #rememberStart(runId: string): void {
    this.#startedIn.add(runId);
    for (const oldest of this.#startedIn) {
      if (this.#startedIn.size <= mostStartedIn) return;
      this.#startedIn.delete(oldest);
    }
  }

  /** This client in the hands of whoever has that API key: its verbs refuse once the key is revoked. */
  by(keyId: string): Client {
    return new Client({ ...this.#options, calls: this.#options.calls.by(keyId) });
  }

  #startCall(contract: Contract, input: unknown, options: StartOptions): Promise<StartCall> {
    const terms = { maxBytes: this.#limits.valueBytes, now: () => this.now() };
    return startCall(contract, input, options, terms);
  }

  async #get(key: RunKey & { readonly longestInput?: number }): Promise<WireRunView> {
    return found(await translated(() => this.#calls.getRun(key)), key);
  }

  async #answer(
    ref: CallbackRef,
    outcome: "resolved" | "rejected",
    answered: Pick<CallbackCall, "value" | "sent">,
  ): Promise<void> {
    const { runId, epoch, path, occurrence } = ref;
    const call = { runId, epoch, path, occurrence, outcome, ...answered };
    const answer = await translated(() => this.#calls.answerCallback(call));
    refuseUnanswered(answer, ref.name);
    if ("turn" in answer) await this.#hint(runId, answer.turn, 0);
  }

  /** An answer to a repeated call names no turn; that of a new run is its first. A hint too many does nothing. */
  async #hintStart(
    call: StartCall,
    { runId, turn = 1, readyAt, now }: StartAnswer & { outcome: "started" },
  ): Promise<void> {
    await this.#hint(runId, turn, (readyAt ?? call.startAt ?? now + (call.delayMs ?? 0)) - now);
  }

  async #hint(runId: string, turn: number | null | undefined, delayMs: number): Promise<void> {
    if (turn === null || turn === undefined || delayMs > longestDispatchMs) return;
    try {
      await this.#dispatch([{ runId, turn }], Math.max(0, delayMs));
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** The version of the run. The answer names none for a new run: that one has the version which was asked for. */
function versionIn(answer: StartAnswer, call: StartCall): number {
  return "version" in answer ? (answer.version ?? call.version) : call.version;
}

function found<Answer extends object>(answer: Answer | Unknown, key: RunKey): Answer {
  if (isUnknown(answer)) throw unknownRun(key);
  return answer;
}

function isUnknown(answer: object | Unknown): answer is Unknown {
  return "outcome" in answer && answer.outcome === "unknown";
}

/** Starts runs: at once, with a signal, or inside the user's own transaction. */
import type { Contract } from "../../core/contract/contract.ts";
import { toMilliseconds } from "../../core/duration.ts";
import type { Query } from "../../core/ports.ts";
import type { StartAnswer, StartCall } from "../../postgres/wire-verbs.ts";
import { sentSignal } from "../mail.ts";
import type { SignalReceipt } from "../run.ts";
import { inputConflict, type StartInOptions, type StartOptions, startCall, startedRunId } from "../starting.ts";
import type { ClientContext } from "./client-context.ts";
import { translated } from "./failure.ts";
import { type GivenSignal, signalFields } from "./signals.ts";

/** How many starts within transactions are remembered for `wake`. Other such runs begin when their alarms ring. */
const mostStartedIn = 1_000;

interface Started {
  readonly runId: string;
  /** Whether this call made the run. */
  readonly isNew: boolean;
  readonly version: number;
}

interface Signalled extends Omit<Started, "version"> {
  /** Undefined: the run was there with another input, so the database did not tell. */
  readonly version: number | undefined;
}

export class Starts {
  readonly #context: ClientContext;
  /** Runs that were started in the user's own transactions since they were last dispatched. */
  readonly #startedIn = new Set<string>();

  constructor(context: ClientContext) {
    this.#context = context;
  }

  async start(contract: Contract, input: unknown, options: StartOptions): Promise<Started> {
    const call = await this.#callOf(contract, input, options);
    const answer = await translated(() => this.#context.calls.startRun(call));
    const started = startedBy(call, answer);
    if (answer.outcome === "started") await this.#dispatchStarted(call, answer);
    return started;
  }

  /** Sends a signal to the run of the id, and starts that run first unless it is there. */
  async startWithSignal(
    contract: Contract,
    input: unknown,
    options: StartOptions,
    given: GivenSignal,
  ): Promise<{ readonly run: Signalled; readonly outcome: SignalReceipt["outcome"] }> {
    const start = await this.#callOf(contract, input, options);
    const call = { ...start, ...(await signalFields(this.#context, given)) };
    const answer = await translated(() => this.#context.calls.signalWithStart(call));
    if (answer.outcome === "conflict") throw inputConflict(call, answer.runId);
    const outcome = sentSignal(answer, given.name);
    const { runId, isNew, turn, readyAt, now } = answer;
    await this.#context.dispatchSoon(runId, turn, (readyAt ?? now) - now);
    const version = answer.version ?? (isNew ? call.version : undefined);
    return { run: { runId, isNew, version }, outcome };
  }

  async startIn(transaction: Query, contract: Contract, input: unknown, options: StartInOptions): Promise<Started> {
    const { commitWithin = "30s", ...rest } = options;
    const commitWithinMs = toMilliseconds(commitWithin, { field: "commitWithin" });
    // No store takes part in the transaction, so the database keeps its input.
    const maxBytes = this.#context.limits.valueBytes;
    const call = { ...(await this.#callOf(contract, input, rest, maxBytes)), commitWithinMs };
    const answer = await translated(() => this.#context.calls.startRunIn(transaction, call));
    const started = startedBy(call, answer);
    if (started.isNew) this.#remember(started.runId);
    return started;
  }

  /** Dispatches the runs that were started inside transactions. */
  async dispatchStartedIn(): Promise<void> {
    const started = [...this.#startedIn];
    this.#startedIn.clear();
    for (const runId of started) await this.#context.dispatchSoon(runId, 1);
  }

  #callOf(
    contract: Contract,
    input: unknown,
    options: StartOptions,
    maxBytes = this.#context.valueBytes,
  ): Promise<StartCall> {
    const traceparent = options.traceparent ?? this.#context.traceparent();
    return startCall(
      contract,
      input,
      { ...options, traceparent },
      { maxBytes, now: () => this.#context.nowForNewRun() },
    );
  }

  /** Remembers the run for `wake`. A tick finds it only when its alarm rings, and that is later than `commitWithin`. */
  #remember(runId: string): void {
    this.#startedIn.add(runId);
    for (const oldest of this.#startedIn) {
      if (this.#startedIn.size <= mostStartedIn) return;
      this.#startedIn.delete(oldest);
    }
  }

  /** Dispatches a new run. The answer to a repeated call names no turn: that of a new run is its first. */
  async #dispatchStarted(
    call: StartCall,
    { runId, turn = 1, readyAt, now }: StartAnswer & { outcome: "started" },
  ): Promise<void> {
    await this.#context.dispatchSoon(runId, turn, (readyAt ?? call.startAt ?? now + (call.delayMs ?? 0)) - now);
  }
}

/** The answer names no version for a new run: that one has the version which was asked for. */
function startedBy(call: StartCall, answer: StartAnswer): Started {
  const version = "version" in answer ? (answer.version ?? call.version) : call.version;
  return { runId: startedRunId(call, answer), isNew: answer.outcome === "started", version };
}

/** The calls, limits and dispatch that all verbs of a client over Postgres use. */
import { defaultLimits, type Limits } from "../../core/limits.ts";
import type { Dispatch, TurnRef, WallClock } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";
import { limited } from "../../postgres/dispatch-limit.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import type { Place } from "../../postgres/wire.ts";
import type { OperateRunsAnswer } from "../../postgres/wire-operations.ts";
import type { RunKey, Unknown } from "../../postgres/wire-verbs.ts";
import { unknownRun } from "../run-id.ts";
import { translated } from "./failure.ts";

export interface ClientContextOptions {
  readonly calls: Calls;
  readonly dispatch: Dispatch;
  readonly limits?: Partial<Limits> | undefined;
  readonly host?: WallClock | undefined;
  /** The W3C trace context of whoever starts a run by this client. Undefined: nobody traces. */
  readonly traceparent?: (() => string | undefined) | undefined;
  /** Is told of a run that was asked to end by this client: this process may be carrying it out. Never rejects. */
  readonly onEndAsked?: ((runId: string) => Promise<void>) | undefined;
  /** Told of what was lost without harm: a dispatch that failed. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export class ClientContext {
  readonly calls: Calls;
  readonly limits: Limits;
  readonly host: WallClock;
  readonly traceparent: () => string | undefined;
  readonly onEndAsked: (runId: string) => Promise<void>;
  readonly #valueBytes: number | undefined;
  readonly #dispatch: Dispatch;
  readonly #onError: (error: unknown) => void;

  constructor({ calls, dispatch, limits, host = hostClock, ...options }: ClientContextOptions) {
    const { traceparent, onEndAsked, onError = () => {} } = options;
    this.calls = calls;
    this.limits = { ...defaultLimits, ...limits };
    this.#valueBytes = limits?.valueBytes;
    this.host = host;
    this.traceparent = traceparent ?? (() => undefined);
    this.onEndAsked = onEndAsked ?? (async () => {});
    this.#dispatch = limited(dispatch, host);
    this.#onError = onError;
  }

  /**
   * The most bytes of an input, a result or an answer, which a store may keep. A signal may have `limits.valueBytes`. It is asked for
   * late, since it may open the database.
   */
  get valueBytes(): number {
    return this.#valueBytes ?? this.calls.store?.mostBytes ?? defaultLimits.valueBytes;
  }

  /** Answers the database's time, in epoch milliseconds. */
  now(): Promise<number> {
    return translated(() => this.calls.now());
  }

  /** Answers the same where a run is to be made with it. */
  nowForNewRun(): Promise<number> {
    return translated(() => this.calls.nowForNewRun());
  }

  /** Dispatches branches of a run, as `dispatchSoon` does with its turn. */
  async dispatchBranches(runId: string, branches: readonly (Place & { readonly turn: number })[]): Promise<void> {
    const turns = branches.map(({ path, occurrence, turn }) => ({ runId, turn, branch: { path, occurrence } }));
    if (turns.length > 0) await this.#send(turns, 0);
  }

  /** Dispatches what has become ready of many runs. */
  async dispatchMany({ turns = [], branches = [] }: Pick<OperateRunsAnswer, "turns" | "branches">): Promise<void> {
    const ofBranches = branches.map(({ runId, turn, path, occurrence }) => ({
      runId,
      turn,
      branch: { path, occurrence },
    }));
    if (turns.length + branches.length > 0) await this.#send([...turns, ...ofBranches], 0);
  }

  /** Dispatches a run's turn, so that it begins soon. No turn: nothing is ready. A dispatch too many does nothing. */
  async dispatchSoon(runId: string, turn: number | null | undefined, delayMs = 0): Promise<void> {
    if (turn === null || turn === undefined || delayMs > this.calls.alarms.pace.shortWaitMs) return;
    await this.#send([{ runId, turn }], Math.max(0, delayMs));
  }

  async #send(turns: readonly TurnRef[], delayMs: number): Promise<void> {
    try {
      await this.#dispatch(turns, delayMs);
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** @throws LayoverError `unknown_run` if the database knows no such run */
export function found<Answer extends object>(answer: Answer | Unknown, key: RunKey): Answer {
  if (isUnknown(answer)) throw unknownRun(key);
  return answer;
}

function isUnknown(answer: object | Unknown): answer is Unknown {
  return "outcome" in answer && answer.outcome === "unknown";
}

/** What a turn's claim brought for its run: signals, answers to callbacks, ends of other runs. Each is handed out once. */
import { type CallbackPlace, type Demand, isWait, placeName } from "../../core/replay/demand.ts";
import { earliestOffer, isAnswerTo, namesWithMore, type Offer, type OfferedSignal } from "../../core/replay/offers.ts";
import type { ClaimedRun, NewRecord, WireCallback } from "../../postgres/wire.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";
import { offeredSignals } from "../replay/offered-signals.ts";

/** A record, but for its place and its time. */
export type Entry = Omit<NewRecord, "path" | "occurrence" | "at">;

export class TurnMail {
  readonly #loaded: LoadedRun;
  readonly #claimed: ClaimedRun;
  readonly #mayHaveMore: ReadonlySet<string>;
  #signals: readonly OfferedSignal[];
  #answers: readonly WireCallback[];

  private constructor(loaded: LoadedRun, claimed: ClaimedRun, signals: readonly OfferedSignal[]) {
    this.#loaded = loaded;
    this.#claimed = claimed;
    this.#signals = signals;
    this.#mayHaveMore = namesWithMore(signals);
    this.#answers = claimed.callbacks ?? [];
  }

  static async open(loaded: LoadedRun, claimed: ClaimedRun): Promise<TurnMail> {
    return new TurnMail(loaded, claimed, claimed.signals == null ? [] : await offeredSignals(loaded, claimed.signals));
  }

  hasSignal(name: string): boolean {
    return this.#signals.some((signal) => signal.name === name);
  }

  /** Whether signals of that name may have come that the claim did not bring. */
  mayHaveMore(name: string): boolean {
    return this.#mayHaveMore.has(name);
  }

  hasAnswerTo(callback: CallbackPlace): boolean {
    return this.#answers.some((answer) => isAnswerTo(answer, callback));
  }

  /** Finds what comes first of all that somebody waits for. A wait that is over by `now` comes, too. */
  next(now: number): Offer | undefined {
    const { execution } = this.#loaded;
    if (execution.soleDemand?.wanted.kind === "step") return undefined;
    return earliestOffer(execution.pending, {
      signals: this.#signals,
      mayHaveMore: this.#mayHaveMore,
      answers: this.#answers,
      ends: this.#claimed.children?.ends ?? [],
      mayHaveMoreEnds: this.#claimed.children?.isMore ?? false,
      isRecorded: (demand: Demand) => this.#loaded.hasRow(placeName(demand)),
      untilOf: (demand: Demand) => this.#loaded.untilOf(demand),
      claimedAt: this.#claimed.now,
      now,
    });
  }

  /** Takes it out, and makes its record. */
  take({ kind, demand, value, isFailure, signal }: Offer): Entry {
    const { path, occurrence, wanted } = demand;
    this.#signals = this.#signals.filter((other) => other !== signal);
    this.#answers = this.#answers.filter((answer) => answer.path !== path || answer.occurrence !== occurrence);
    return {
      kind,
      isFailure,
      ...(value !== null && { value }),
      ...(signal !== undefined && { signal: signal.number }),
      ...(isWait(wanted) && wanted.epoch !== undefined && { callbackEpoch: wanted.epoch }),
    };
  }
}

/** Describes the end of a wait for a trace. `now`: the time of its record. */
export function tracedWait({ kind, demand, isFailure, value, at }: Offer, now: number) {
  const hasTimedOut = value === null && kind !== "sleep";
  return {
    kind,
    step: placeName(demand),
    outcome: isFailure ? "failed" : hasTimedOut ? "timed_out" : "succeeded",
    begunAgoMs: Math.max(0, now - demand.demandedAt),
    endedAgoMs: Math.max(0, now - Math.max(at, demand.demandedAt)),
  } as const;
}

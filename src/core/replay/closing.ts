/** The end of a run before its time, by a cancel, by its timeout, or since its history is full: what its handler may still ask for. */
import { CancelledError } from "../contract/user-errors.ts";
import type { Demand } from "./demand.ts";

const mostRefusals = 1_000;

/**
 * The kind of the record. `closing`: only cleanups go on. `cancellation` is a timeout that an earlier release has written: the
 * handler may still ask for steps anywhere.
 */
export type ClosingKind = "cancellation" | "closing";

/**
 * The reason of a run that closes for a cleanup that was under way when its handler threw. What else the run waits for is dropped, and
 * no part of the handler is told so: what was at work and ends later still settles it. A part that goes on may begin another cleanup. Nothing
 * else that it asks for is answered.
 */
export const afterThrow = "its handler has thrown";

export class Closing {
  readonly kind: ClosingKind;
  readonly reason: string | undefined;
  /** Whether the handler had thrown when this was recorded. Code that was deployed since may catch the error. */
  readonly isAfterThrow: boolean;
  /** Whether the cleanups, too, have taken too long. */
  readonly #isCleanupOver: boolean;
  #refusals = 0;

  constructor(kind: ClosingKind, reason: string | undefined, before: Closing | undefined) {
    this.kind = kind;
    this.reason = reason;
    this.isAfterThrow = reason === afterThrow;
    this.#isCleanupOver = before?.kind === "closing";
    this.#refusals = before === undefined ? 0 : before.#refusals;
  }

  /** Tells whether this outlives the record that told of the end. */
  spares({ isShielded }: Pick<Demand, "isShielded">): boolean {
    return isShielded && !this.#isCleanupOver;
  }

  /** Tells whether a run that is being ended may still ask for this. It waits for nobody outside and starts no run,
   * or it might never end. */
  allows(place: Pick<Demand, "isShielded">, kind: Demand["wanted"]["kind"]): boolean {
    if (this.kind === "closing") return this.spares(place);
    return kind === "step" || kind === "sleep" || kind === "close";
  }

  /** Makes the error of a demand that is refused. Undefined: the code takes no refusal, and would ask for ever. */
  refuse(): CancelledError | undefined {
    this.#refusals += 1;
    return this.#refusals > mostRefusals ? undefined : new CancelledError(this.reason);
  }
}

/**
 * The instants at which another process rings as well, in case this one is dead by then. Some were armed by this
 * process itself, some by others who have this process ring for them.
 */
import { copyOfAlarm } from "../../../core/waking.ts";
import type { Instant } from "../../../http/arm.ts";

export interface AlarmCopy {
  readonly at: number;
  /** When it rings, by the host's monotonic clock. */
  readonly ringsAt: number;
  /** The id of the other process that rings. Undefined: none does. */
  beside: string | undefined;
  /** The search for another process that rings. Undefined: no search is under way. */
  arming: Promise<void> | undefined;
}

/** The largest difference at which two distances count as the same. */
const sameMs = 1_000;

/** Makes the copy of an instant, at the end of its minute. So one copy serves many runs. */
export function copyOf({ at, inMs }: Instant): Instant {
  const copyAt = copyOfAlarm(at);
  return { at: copyAt, inMs: inMs + copyAt - at };
}

export class AlarmCopies {
  readonly #copies = new Map<number, AlarmCopy>();

  /**
   * Adds instants. Answers those that are new or ring at another time than before (`added`), and the others (`known`).
   */
  add(
    instants: readonly Instant[],
    now: number,
    beside?: string,
  ): { readonly added: readonly AlarmCopy[]; readonly known: readonly AlarmCopy[] } {
    const added: AlarmCopy[] = [];
    const known: AlarmCopy[] = [];
    for (const { at, inMs } of new Map(instants.map((instant) => [instant.at, instant])).values()) {
      const ringsAt = now + inMs;
      const earlier = this.#copies.get(at);
      if (earlier !== undefined && Math.abs(earlier.ringsAt - ringsAt) <= sameMs) {
        known.push(earlier);
        continue;
      }
      const copy = { at, ringsAt, beside, arming: undefined };
      this.#copies.set(at, copy);
      added.push(copy);
    }
    return { added, known };
  }

  /** The id of the other process that rings at an instant. */
  besideOf(at: number): string | undefined {
    return this.#copies.get(copyOf({ at, inMs: 0 }).at)?.beside;
  }

  /** All copies that have not rung yet. */
  standing(now: number): readonly AlarmCopy[] {
    for (const { at, ringsAt } of this.#copies.values()) if (ringsAt < now) this.#copies.delete(at);
    return [...this.#copies.values()];
  }
}

export function distances(copies: readonly AlarmCopy[], now: number): readonly Instant[] {
  return copies.map(({ at, ringsAt }) => ({ at, inMs: Math.max(0, Math.round(ringsAt - now)) }));
}

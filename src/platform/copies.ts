/**
 * The instants at which this process rings and another one is to ring as well, in case this one is dead by then: those
 * that it has armed itself, and those that others have armed here.
 */
import type { Instant } from "../http/arm.ts";

export interface Copy {
  readonly at: number;
  /** When it rings, by the host's monotonic clock. */
  readonly ringsAt: number;
  /** The other process that rings. Undefined: none does. */
  beside: string | undefined;
  /** Ends when it is known who rings besides; undefined when that is so. */
  placing: Promise<void> | undefined;
}

const minuteMs = 60_000;

/**
 * The other process rings that long after the minute. By then a process that lives has moved on what was due, so that the
 * other one finds nothing.
 */
const lateMs = 5_000;

/** An answer that is no further off than this is the same distance. */
const sameMs = 1_000;

/** Minutes are whole, so that what many runs wait for is armed once. */
export function copyOf({ at, inMs }: Instant): Instant {
  const copyAt = Math.ceil(at / minuteMs) * minuteMs + lateMs;
  return { at: copyAt, inMs: inMs + copyAt - at };
}

export class Copies {
  readonly #copies = new Map<number, Copy>();

  /** Those of the instants that are new, or ring at another time than was thought; and the others. */
  add(
    instants: readonly Instant[],
    now: number,
    beside?: string,
  ): { readonly added: readonly Copy[]; readonly known: readonly Copy[] } {
    const added: Copy[] = [];
    const known: Copy[] = [];
    for (const { at, inMs } of new Map(instants.map((instant) => [instant.at, instant])).values()) {
      const ringsAt = now + inMs;
      const earlier = this.#copies.get(at);
      if (earlier !== undefined && Math.abs(earlier.ringsAt - ringsAt) <= sameMs) {
        known.push(earlier);
        continue;
      }
      const copy = { at, ringsAt, beside, placing: undefined };
      this.#copies.set(at, copy);
      added.push(copy);
    }
    return { added, known };
  }

  /** The other process in which an instant rings. */
  besideOf(at: number): string | undefined {
    return this.#copies.get(copyOf({ at, inMs: 0 }).at)?.beside;
  }

  /** All that have not rung. */
  standing(now: number): readonly Copy[] {
    for (const { at, ringsAt } of this.#copies.values()) if (ringsAt < now) this.#copies.delete(at);
    return [...this.#copies.values()];
  }
}

export function distances(copies: readonly Copy[], now: number): readonly Instant[] {
  return copies.map(({ at, ringsAt }) => ({ at, inMs: Math.max(0, Math.round(ringsAt - now)) }));
}

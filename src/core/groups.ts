/**
 * Groups of turns that may have ended their process.
 *
 * One death takes everything that a process has at work, so most turns that lost a lease are innocent. A turn that lost
 * one lease is tried again beside others. A turn that lost two leases in a row goes in a group of 16, after three in a
 * group of 4, after four alone (`group_size` in SQL). A process carries out one such group at a time, so the next death
 * shows which group it was.
 */
import type { TurnRef } from "./ports.ts";

/** The most turns that this one may go with. Undefined: any number. */
export function groupSizeOf({ alone, groupSize }: TurnRef): number | undefined {
  return alone ? 1 : groupSize;
}

export function isSuspect(turn: TurnRef): boolean {
  return groupSizeOf(turn) !== undefined;
}

/** Makes a turn that goes with at most so many. */
export function inGroupOf(size: number, turn: TurnRef): TurnRef {
  const { alone: _, groupSize: __, ...ref } = turn;
  return size === 1 ? { ...ref, alone: true } : { ...ref, groupSize: size };
}

/** Makes groups of turns that have the same group size. */
export function groupsOf(suspects: readonly TurnRef[]): readonly (readonly TurnRef[])[] {
  const groups: (readonly TurnRef[])[] = [];
  const bySize = Map.groupBy(suspects, (turn) => groupSizeOf(turn) ?? suspects.length);
  for (const [size, turns] of bySize) {
    for (let first = 0; first < turns.length; first += size) groups.push(turns.slice(first, first + size));
  }
  return groups;
}

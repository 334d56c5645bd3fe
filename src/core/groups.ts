/**
 * Turns that may be what ended their processes, and with how many of their kind each may go.
 *
 * One death takes everything that a process has at work, so most of those who lost a lease are innocent. Who lost one is
 * tried again beside others, who lost two in a row in a group of 16, three of 4, and four alone (`group_size` in SQL). A
 * process carries out one such group at a time, so that the next death tells which group it was.
 */
import type { TurnRef } from "./ports.ts";

/** Undefined: with any number. */
export function groupSizeOf({ alone, groupSize }: TurnRef): number | undefined {
  return alone ? 1 : groupSize;
}

export function isSuspect(turn: TurnRef): boolean {
  return groupSizeOf(turn) !== undefined;
}

/** A turn that goes with so many at most. */
export function inGroupOf(size: number, turn: TurnRef): TurnRef {
  const { alone: _, groupSize: __, ...ref } = turn;
  return size === 1 ? { ...ref, alone: true } : { ...ref, groupSize: size };
}

/** Each of these goes with those that may go with as many. */
export function groupsOf(suspects: readonly TurnRef[]): readonly (readonly TurnRef[])[] {
  const groups: (readonly TurnRef[])[] = [];
  const bySize = Map.groupBy(suspects, (turn) => groupSizeOf(turn) ?? suspects.length);
  for (const [size, turns] of bySize) {
    for (let first = 0; first < turns.length; first += size) groups.push(turns.slice(first, first + size));
  }
  return groups;
}

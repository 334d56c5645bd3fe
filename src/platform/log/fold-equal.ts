/** Keeps a log readable when one cause makes the same line thousands of times. */

export interface FoldOptions<Told> {
  readonly keyOf: (told: Told) => string;
  /** The wall clock, in epoch milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * Calls `act` later, so that a count is printed even if no further line comes. Left out where nothing may go on after
   * a request: then the next call prints the count.
   */
  readonly after?: ((ms: number, act: () => void) => void) | undefined;
}

interface Known<Told> {
  since: number;
  folded: number;
  last: Told;
}

const foldMs = 60_000;

/**
 * Makes a function that prints the first of equal lines at once. Of equal lines within the next minute it prints only
 * how many they were (`more`).
 */
export function foldEqual<Told>(
  print: (told: Told, more: string) => void,
  { keyOf, now = Date.now, after }: FoldOptions<Told>,
): (told: Told) => void {
  const known = new Map<string, Known<Told>>();
  const forget = (except?: string): void => {
    for (const [key, each] of known) {
      if (key === except || now() < each.since + foldMs) continue;
      known.delete(key);
      if (each.folded > 0) print(each.last, each.folded === 1 ? "" : ` (the last of ${each.folded} like it)`);
    }
  };
  return (told) => {
    const key = keyOf(told);
    forget(key);
    const same = known.get(key);
    if (same !== undefined && now() < same.since + foldMs) {
      if (same.folded === 0) after?.(same.since + foldMs - now(), forget);
      same.folded += 1;
      same.last = told;
      return;
    }
    known.set(key, { since: now(), folded: 0, last: told });
    print(told, same === undefined || same.folded === 0 ? "" : ` (and ${same.folded} more like it before)`);
  };
}

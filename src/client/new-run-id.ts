/**
 * Makes our ids of runs: uuid v7 of the database's time. Within one process and millisecond they sort in the order of
 * their making.
 */
import { v7 } from "uuid";

let last: { readonly msecs: number; readonly seq: number } | undefined;

/** `msecs`: the database's time, in epoch milliseconds. */
export function newRunId(msecs: number): string {
  const seq = last?.msecs === msecs ? last.seq + 1 : Math.floor(Math.random() * 2 ** 31);
  last = { msecs, seq };
  return v7({ msecs, seq });
}

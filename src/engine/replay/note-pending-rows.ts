/** Compares a loaded run with the pending rows of the run that its claim answered. */
import { placeName } from "../../core/replay/demand.ts";
import type { ClaimedRun, WirePending } from "../../postgres/wire.ts";
import type { LoadedRun } from "./loaded-run.ts";

/**
 * Notes which rows stand; one that the code does not ask for is a divergence.
 *
 * A claim lists every row that the database has released. It tells nothing of a loser whose race is decided by the very records that
 * came with the claim: its row stands, and may be at work.
 */
export function notePendingRows(
  loaded: LoadedRun,
  { pending, handedPosition }: Pick<ClaimedRun, "pending" | "handedPosition">,
): void {
  const { execution } = loaded;
  if (execution.divergence !== undefined) return;
  if (pending == null && execution.races.losers.size === 0) return;
  const { losers, releases } = execution.races;
  const known = releases.filter(({ position }) => position <= handedPosition);
  const standing = new Set((pending ?? []).map(placeName));
  for (const loser of losers.keys()) {
    const mayBeOver = loaded.hasRow(loser) && !standing.has(loser);
    if (mayBeOver && known.some(({ prefix }) => loser.startsWith(prefix))) loaded.forgetRow(loser);
  }
  for (const row of pending ?? []) {
    const place = placeName(row);
    if (row.kind === "retry") loaded.noteFailedAttempts(place, row.attempts);
    else if (row.position === null) loaded.noteRow(place, row.until ?? undefined);
    if (row.position !== null || row.isReleased || losers.has(place)) continue;
    if (isAskedFor(loaded, row)) continue;
    execution.diverge(`the run waits for ${row.kind} ${place}, which the code does not ask for`);
  }
}

function isAskedFor({ execution }: LoadedRun, row: WirePending): boolean {
  const kind = execution.find(row.path, row.occurrence)?.wanted.kind;
  return kind === (row.kind === "branch" || row.kind === "retry" ? "step" : row.kind);
}

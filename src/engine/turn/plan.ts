/** What a turn of a run comes to: what is to be recorded, and what follows it. It is one call to the database. */
import type { Execution } from "../../core/replay/execution.ts";
import { utf8Size } from "../../core/utf8-size.ts";
import { dueForTimeout, type Pace } from "../../core/waking.ts";
import type { ClaimedRun, FinishRun, NewRecord, Place } from "../../postgres/wire.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";
import type { Committed } from "./attempt.ts";

/** What a finish says, but for who says it. */
export interface Plan extends Omit<FinishRun, "runId" | "token" | "armed"> {
  /** Instants at which the scheduler may have to look. */
  readonly wakeInstants: readonly number[];
  /** The answer to the finish that was committed with a transaction. Then there is nothing left to finish. */
  readonly committed?: Committed;
  /** Whether another invocation is to go on, since this one has no time for the next step. */
  readonly isLeft?: boolean;
}

/**
 * The time of a record that is made `now`, in epoch milliseconds: never before that of the record before it. It is fixed
 * before the record is handed out, so that the first pass and every replay see the same.
 */
export function recordTime(now: number, execution: Execution, { lastRecordAt }: ClaimedRun): number {
  return Math.max(now, execution.now, lastRecordAt);
}

/**
 * What is committed with a transaction: its record alone. The handler sees that in the next turn, so what it asks for then
 * is never lost with a transaction that could not be committed.
 */
export function transactionPlan(
  { execution, lastSaying, freshPatches: patches, madeInput: input }: LoadedRun,
  claimed: ClaimedRun,
  { path, occurrence }: Place,
  { now, ...entry }: Pick<NewRecord, "value" | "beganAt" | "attempts"> & { readonly now: number },
): Plan {
  const { position } = claimed;
  const at = recordTime(now, execution, claimed);
  return {
    position,
    next: "ready",
    records: [{ ...entry, kind: "step", path, occurrence, at }],
    bytes: utf8Size(entry.value ?? ""),
    wakeInstants: [],
    ...(lastSaying !== undefined && { says: [{ value: lastSaying, saidAfter: position }] }),
    ...(patches.length > 0 && { patches }),
    ...(input !== undefined && { input }),
  };
}

/** Adds the run's timeout to the instants for which the run must be looked at, if none of them comes earlier. */
export function withTimeout(
  instants: readonly number[],
  { timeoutAt = null }: ClaimedRun,
  { now, pace }: { readonly now: number; readonly pace: Pace },
): readonly number[] {
  if (timeoutAt === null || timeoutAt > Math.min(...instants)) return instants;
  return [...instants, dueForTimeout(timeoutAt, now, pace)];
}

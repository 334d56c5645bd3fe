/** Looks at one run, has it judged for another version of its workflow, and moves it if it fits. */
import { v7 } from "uuid";
import { readMail, readStored } from "../../client/over-postgres/stored-runs.ts";
import type { UpgradeOptions, UpgradeReceipt } from "../../client/over-postgres/upgrades.ts";
import { LayoverError } from "../../core/errors.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { Judge } from "./judge.ts";

/** `left`: somebody works at it, or it has gone on or ends meanwhile. Nothing was done to it. */
export interface Moved {
  readonly outcome: "moved" | "fits" | "refused" | "blocks" | "ends" | "left";
  readonly reason?: string;
}

export interface Mover {
  readonly calls: Pick<Calls, "readReplay" | "readMail">;
  readonly judge: Judge;
  readonly from: number;
  readonly to: number;
  /** Moves a run. Undefined: nothing is moved, as in a dry run. */
  readonly move: ((runId: string, options: UpgradeOptions) => Promise<UpgradeReceipt>) | undefined;
  /** The name of the person who asks, and the reason. Both are kept with the run. */
  readonly terms: { readonly by?: string | undefined; readonly reason?: string | undefined };
}

const isAtWork = "somebody works at it";
const hasGoneOn = "it has gone on meanwhile";

/** Statuses in which a run is not parked, or ends. */
const unmoved: Readonly<Record<string, string>> = {
  running: isAtWork,
  cancelling: "it is being cancelled",
  compensating: "it is being undone",
};

/** Undefined: the run is over, or of another version by now. */
export async function moveRun(mover: Mover, runId: string): Promise<Moved | undefined> {
  const { calls, judge, from, to, move, terms } = mover;
  // The signals are read before the history. So a signal or a record that comes in between changes `lastMail`, `turn` or `position`, and
  // the move is refused.
  const mail = await readMail(calls, runId);
  const stored = await readStored(calls, runId);
  if (mail === undefined || stored === undefined || stored.run.version !== from) return undefined;
  const busy = unmoved[stored.status];
  if (busy !== undefined) return { outcome: "left", reason: busy };
  if (stored.epoch !== mail.epoch || stored.position !== mail.position) return { outcome: "left", reason: hasGoneOn };
  const { isAwaited, signals, ...looked } = mail;
  const verdict = await judge.judgeMove(stored, { to, isAwaited, signals });
  if (verdict.outcome !== "fits") return { outcome: verdict.outcome, reason: verdict.reason };
  if (move === undefined) return { outcome: "fits" };
  const { epoch, turn, position, lastMail } = looked;
  const signature = judge.signatures[stored.run.workflow]?.[to] ?? "";
  try {
    const options = { ...terms, from, to, signature, epoch, turn, position, lastMail, callId: v7() };
    const { outcome } = await move(runId, options);
    if (outcome === "upgraded") return { outcome: "moved" };
    return { outcome: "left", reason: outcome === "at_work" ? isAtWork : hasGoneOn };
  } catch (error) {
    const isGone = error instanceof LayoverError && error.code === "unknown_run";
    const isEnding = error instanceof LayoverError && error.details["runStatus"] !== undefined;
    if (!isGone && !isEnding) throw error;
    return { outcome: "left", reason: "it has ended meanwhile, or is about to" };
  }
}

/** Has runs judged for another version of their workflow, and moves those that fit. */
import { v7 } from "uuid";
import { listParked } from "../../client/over-postgres/stored-runs.ts";
import type { UpgradeOptions, UpgradeReceipt } from "../../client/over-postgres/upgrades.ts";
import { LayoverError } from "../../core/errors.ts";
import { hasGoneOn, isAtWork, type LookedAt, lookAt, type Versions } from "../../http/replay-check/judge-move.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { ParkedCall, ParkedPage } from "../../postgres/wire-replay.ts";
import type { Judge } from "./judge.ts";
import { refuseElsewhere, refuseSealedMail } from "./sealed.ts";

/** `left`: somebody works at it, or it has gone on or ends meanwhile. Nothing was done to it. */
export interface Moved {
  readonly outcome: "moved" | "fits" | "refused" | "blocks" | "ends" | "left";
  readonly reason?: string;
}

/** A run that was looked at, with what was done to it. */
export interface Told extends Moved {
  readonly runId: string;
}

/** Finds runs, and judges by its code whether they fit: this machine does, or a deployment. */
export interface Looker {
  /** How many runs it looks at in a call. */
  readonly most: number;
  listParked(filter: ParkedCall): Promise<ParkedPage>;
  /** Whether the code has this version. It is asked once the runs were listed. */
  carries(workflow: string, version: number): boolean;
  lookAt(runIds: readonly string[], versions: Versions): Promise<readonly (LookedAt & { readonly runId: string })[]>;
}

export interface Mover extends Versions {
  readonly looker: Looker;
  /** Moves a run. Undefined: nothing is moved, as in a dry run. */
  readonly move: ((runId: string, options: UpgradeOptions) => Promise<UpgradeReceipt>) | undefined;
  /** The name of the person who asks, and the reason. Both are kept with the run. */
  readonly terms: { readonly by?: string | undefined; readonly reason?: string | undefined };
}

/** Reads the database, and judges by the code of this machine. */
export function lookerHere(calls: Pick<Calls, "listParked" | "readReplay" | "readMail">, judge: Judge): Looker {
  return {
    most: 1, // between the look at a run and its move there is no other run
    listParked: (filter) => listParked(calls, filter),
    carries: (workflow, version) => judge.versions[workflow]?.includes(version) === true,
    lookAt: async (runIds, { from, to }) => {
      const told = [];
      for (const runId of runIds) {
        const looked = await lookAt(calls, {
          ...{ runId, from, to },
          judge: async (stored, move) => {
            refuseElsewhere(stored, "upgrade");
            refuseSealedMail(runId, move.signals);
            return await judge.judgeMove(stored, move);
          },
          signatureOf: (workflow) => judge.signatures[workflow]?.[to] ?? "",
        });
        told.push({ runId, ...looked });
      }
      return told;
    },
  };
}

/** Looks at these runs, and moves those that fit, until it is stopped. Left out are those that are over, or of another version by now. */
export async function moveRuns(
  mover: Mover,
  runIds: readonly string[],
  isStopped: () => boolean,
): Promise<readonly Told[]> {
  const { looker, from, to } = mover;
  const told: Told[] = [];
  for (const { runId, ...looked } of await looker.lookAt(runIds, { from, to })) {
    if (isStopped()) break;
    if (looked.outcome === "over") continue;
    if (looked.outcome === "fits") told.push({ runId, ...(await moveRun(mover, runId, looked)) });
    else told.push({ runId, outcome: looked.outcome, reason: looked.reason });
  }
  return told;
}

async function moveRun(
  { from, to, move, terms }: Mover,
  runId: string,
  { outcome: _, ...looked }: LookedAt & { readonly outcome: "fits" },
): Promise<Moved> {
  if (move === undefined) return { outcome: "fits" };
  try {
    const { outcome } = await move(runId, { ...terms, ...looked, from, to, callId: v7() });
    if (outcome === "upgraded") return { outcome: "moved" };
    return { outcome: "left", reason: outcome === "at_work" ? isAtWork : hasGoneOn };
  } catch (error) {
    const isGone = error instanceof LayoverError && error.code === "unknown_run";
    const isEnding = error instanceof LayoverError && error.details["runStatus"] !== undefined;
    if (!isGone && !isEnding) throw error;
    return { outcome: "left", reason: "it has ended meanwhile, or is about to" };
  }
}

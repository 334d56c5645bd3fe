/** Looks at a run, and tells whether it may be moved to another version of its workflow. It carries nothing out. */
import { readMail, readStored } from "../../client/over-postgres/stored-runs.ts";
import type { Registry } from "../../engine/registry.ts";
import { judgeUpgrade, type Move, type UpgradeVerdict } from "../../engine/replay/judge-upgrade.ts";
import type { StoredRun } from "../../engine/replay/replay-stored.ts";
import { unlessRefused } from "../../engine/replay/unless-refused.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { Looked, MailPage } from "../../postgres/wire-replay.ts";
import { confined } from "./confined.ts";
import type { Build } from "./mount.ts";

/** The version that a run has, and the one that it is to have. */
export interface Versions {
  readonly from: number;
  readonly to: number;
}

/**
 * `fits`: it may be moved as long as it is as it was looked at; `signature` is that of the other version's contract. `left`: somebody works
 * at it, or it has gone on or ends meanwhile. `over`: it has ended, was deleted, or is of another version by now.
 */
export type LookedAt =
  | (Looked & { readonly outcome: "fits"; readonly signature: string })
  | { readonly outcome: "refused" | "blocks" | "ends" | "left"; readonly reason: string }
  | { readonly outcome: "over" };

/** What a deployment answers about several runs. */
export interface MoveJudgements {
  readonly deployment: Build;
  readonly verdicts: readonly (LookedAt & { readonly runId: string })[];
  /** The runs that are left for another request, since there was no time. */
  readonly left: readonly string[];
}

export interface Looking extends Versions {
  readonly runId: string;
  /** Tells whether the run fits the other version. */
  readonly judge: (stored: StoredRun, move: Move) => Promise<UpgradeVerdict>;
  /** The signature of the other version's contract. */
  readonly signatureOf: (workflow: string) => string;
}

export const isAtWork = "somebody works at it";
export const hasGoneOn = "it has gone on meanwhile";

/** Statuses in which a run is not parked, or ends. */
const unmoved: Readonly<Record<string, string>> = {
  running: isAtWork,
  cancelling: "it cleans up before its end",
  compensating: "it is being undone",
};

export async function lookAt(
  calls: Pick<Calls, "readReplay" | "readMail">,
  { runId, from, to, judge, signatureOf }: Looking,
): Promise<LookedAt> {
  // The signals are read before the history. So a signal or a record that comes in between changes `lastMail`, `turn` or `position`, and
  // the move is refused.
  const mail = await readMail(calls, runId);
  const stored = await readStored(calls, runId);
  if (mail === undefined || stored === undefined || stored.run.version !== from) return { outcome: "over" };
  const busy = unmoved[stored.status];
  if (busy !== undefined) return { outcome: "left", reason: busy };
  if (stored.epoch !== mail.epoch || stored.position !== mail.position) return { outcome: "left", reason: hasGoneOn };
  const { isAwaited, signals } = mail;
  const verdict = await judge(stored, { to, isAwaited, signals });
  if (verdict.outcome !== "fits") return { outcome: verdict.outcome, reason: verdict.reason };
  return { outcome: "fits", signature: signatureOf(stored.run.workflow), ...lookedIn(mail) };
}

function lookedIn({ epoch, turn, position, lastMail }: MailPage): Looked {
  return { epoch, turn, position, lastMail };
}

/** Judges by the code of this deployment. */
export async function judgeMove(
  calls: Pick<Calls, "readReplay" | "readMail">,
  registry: Registry,
  { runId, from, to }: Versions & { readonly runId: string },
): Promise<LookedAt & { readonly runId: string }> {
  const judge: Looking["judge"] = async (stored, move) => {
    const { workflow } = stored.run;
    if (registry.find(workflow, to) === undefined) {
      return { outcome: "refused", reason: `this deployment does not have version ${to} of ${workflow}` };
    }
    const { result, refused } = await confined((atRest) =>
      judgeUpgrade(registry, stored, move, { atRest, tellsLines: true }),
    );
    return unlessRefused(result, refused);
  };
  const { signatures } = registry;
  const signatureOf = (workflow: string) => signatures[workflow]?.[to] ?? "";
  return { runId, ...(await lookAt(calls, { runId, from, to, judge, signatureOf })) };
}

/** The model of the move of a run to another version of its workflow, and of the look before it. */
import type { ClaimTurn } from "../../src/postgres/wire.ts";
import type { UpgradeCall } from "../../src/postgres/wire-replay.ts";
import { type Called, keptBy } from "./mail.ts";
import { readyNow } from "./operations.ts";
import { isCarried } from "./refusals.ts";
import { findRun, isOver, standingSetback } from "./rules.ts";
import { type Answer, noLosses, type Run } from "./run.ts";
import type { World } from "./world.ts";

export function upgrade(world: World, namespace: string, call: UpgradeCall & { readonly runId: string }): Called {
  const { runId, callId, to: version, signature } = call;
  const run = findRun(world, runId, namespace);
  if (run === undefined) return unchanged({ outcome: "unknown" });
  const told = run.operations.get(callId);
  if (told !== undefined) return unchanged({ ...told, ...readyNow(run, world.now) });
  const refusal = whyItStays(world, run, call);
  if (refusal !== undefined) return unchanged({ ...refusal, ...(refusal["outcome"] !== "unknown" && { runId }) });

  const isStuck = run.isBlocked || standingSetback(run) !== undefined;
  Object.assign(run, { version, signature, isMoved: true, turn: run.turn + 1 });
  Object.assign(run, { dispatches: 0, loneClaims: 0, beginnings: 0, losses: noLosses });
  for (const row of run.rows) row.dispatches = 0;
  run.refusals.clear();
  if (isStuck) Object.assign(run, { isBlocked: false, readyAt: world.now });
  const verdict = { outcome: "upgraded", runId, version };
  run.operations.set(callId, verdict);
  return { answer: { ...verdict, ...readyNow(run, world.now) }, hasEffect: true };
}

function unchanged(answer: Answer): Called {
  return { answer, hasEffect: false };
}

function whyItStays(world: World, run: Run, { from, to, ...looked }: UpgradeCall): Answer | undefined {
  const status = endingStatus(run);
  if (status !== undefined) return { outcome: "not_applicable", status };
  const { epoch, turn, position, lastMail } = lookAt(run);
  const isAsLookedAt =
    from === run.version &&
    looked.epoch === epoch &&
    looked.turn === turn &&
    looked.position === position &&
    looked.lastMail === lastMail;
  if (!isAsLookedAt) return { outcome: "moved_on" };
  const leases = [run, ...run.rows].flatMap(({ lease }) => lease ?? []); // one that has run out counts, too
  if (leases.length > 0) return { outcome: "at_work", until: Math.max(...leases.map(({ until }) => until)) };
  return isCarried(world, run.namespace, to) ? undefined : { outcome: "not_carried" };
}

/** The status that people see of a run that has ended or is about to. Undefined: it is neither. */
function endingStatus(run: Run): string | undefined {
  const { cancel, cancelledPosition, isClosing, ending } = run;
  if (isOver(run)) return run.status;
  const isCompensating = isClosing || ending !== undefined;
  if (!isCompensating && cancel === undefined && cancelledPosition === undefined) return undefined;
  if (run.isBlocked) return "blocked";
  if (run.pausedAt !== undefined) return "paused";
  return isCompensating ? "compensating" : "cancelling";
}

export function lookAt(run: Run): Pick<UpgradeCall, "epoch" | "turn" | "position" | "lastMail"> {
  const numbers = run.signals.filter(({ takenAt }) => takenAt === undefined).map(({ number }) => number);
  const flooded = run.flood === undefined ? [] : [run.flood.last];
  return { epoch: 0, turn: run.turn, position: run.history.length, lastMail: Math.max(0, ...numbers, ...flooded) };
}

/** What somebody reads of a run who asks whether it fits another version. */
export function readMail(world: World, namespace: string, runId: string): Answer {
  const run = findRun(world, runId, namespace);
  if (run === undefined) return { outcome: "unknown" };
  const kept = run.signals.filter(({ takenAt }) => takenAt === undefined);
  const signals = kept.map(({ number, name, payload, receivedAt }) => ({ number, name, payload, receivedAt }));
  const isSmall = keptBy(run).count === signals.length; // a flood comes in pages
  return { outcome: "read", runId, ...lookAt(run), isAwaited: false, ...(isSmall && { signals }) };
}

/** Whether what a process holds of the run is of its version. A process of an earlier release does not say of which one it is. */
export function isOfVersion({ version, isMoved }: Run, have: ClaimTurn["have"]): boolean {
  return have?.version === undefined ? !isMoved : have.version === version;
}

/** Replays a run in this thread, which has refused its code the network and the timers. */
import type { Registry } from "../../engine/registry.ts";
import { judgeUpgrade, type Move, type UpgradeVerdict } from "../../engine/replay/judge-upgrade.ts";
import { type ReplayVerdict, replayStored, type StoredRun } from "../../engine/replay/replay-stored.ts";
import { atRest, takeRefused } from "./refusals.ts";

export async function replayHere(registry: Registry, stored: StoredRun): Promise<ReplayVerdict> {
  const { workflow: name, version } = stored.run;
  const workflow = registry.find(name, version);
  if (workflow === undefined) throw new Error(`version ${version} of ${name} is not here`);
  takeRefused();
  const verdict = await replayStored(workflow, stored, { registry, atRest, tellsLines: true });
  return unlessRefused(verdict, verdict.asked);
}

/** Tells whether the run fits another version of its workflow. */
export async function judgeMoveHere(registry: Registry, stored: StoredRun, move: Move): Promise<UpgradeVerdict> {
  takeRefused();
  const verdict = await judgeUpgrade(registry, stored, move, { atRest, tellsLines: true });
  return unlessRefused(verdict, "asked" in verdict ? verdict.asked : []);
}

function unlessRefused<Verdict>(verdict: Verdict, asked: ReplayVerdict["asked"]): Verdict | ReplayVerdict {
  const refused = takeRefused();
  if (refused === undefined) return verdict;
  const reason = `the code calls ${refused} outside of a step`;
  return { outcome: "blocks", position: 0, reason, expected: undefined, instead: [], asked };
}

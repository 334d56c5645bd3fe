/** Replays a run in this thread, which has refused its code the network and the timers. */
import type { Registry } from "../../engine/registry.ts";
import { judgeUpgrade, type Move, type UpgradeVerdict } from "../../engine/replay/judge-upgrade.ts";
import { type ReplayVerdict, replayStored, type StoredRun } from "../../engine/replay/replay-stored.ts";
import { unlessRefused } from "../../engine/replay/unless-refused.ts";
import { atRest, takeRefused } from "./refusals.ts";

export async function replayHere(registry: Registry, stored: StoredRun): Promise<ReplayVerdict> {
  const { workflow: name, version } = stored.run;
  const workflow = registry.find(name, version);
  if (workflow === undefined) throw new Error(`version ${version} of ${name} is not here`);
  takeRefused();
  const verdict = await replayStored(workflow, stored, { registry, atRest, tellsLines: true });
  return unlessRefused(verdict, takeRefused());
}

/** Tells whether the run fits another version of its workflow. */
export async function judgeMoveHere(registry: Registry, stored: StoredRun, move: Move): Promise<UpgradeVerdict> {
  takeRefused();
  const verdict = await judgeUpgrade(registry, stored, move, { atRest, tellsLines: true });
  return unlessRefused(verdict, takeRefused());
}

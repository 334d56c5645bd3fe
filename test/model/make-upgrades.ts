/** A wish of whoever moves runs to another version: the run is looked at, others do what they do, and it is moved. */
import type { UpgradeCall } from "../../src/postgres/wire-replay.ts";
import { wrong } from "./make-visits.ts";
import { text } from "./match.ts";
import { arm, armedFor, isOver } from "./rules.ts";
import type { Run } from "./run.ts";
import { pick, type Script } from "./script.ts";
import { minute } from "./settings.ts";
import { lookAt, readMail, upgrade } from "./upgrades.ts";
import type { UpgradeWish, Wish } from "./wishes.ts";
import type { World } from "./world.ts";

export function makeUpgrade(script: Script, wish: UpgradeWish, make: (wish: Wish) => void): void {
  const { isElsewhere, isLate, isBare } = wish;
  const looked = wish.isRepeat ? script.world.lastUpgrade : look(script, wish);
  if (looked === undefined) return;
  if (!wish.isRepeat) for (const other of wish.meanwhile) make(other);
  const { world } = script; // by now: what came too late took the last one back
  world.lastUpgrade = looked;
  const { runId } = looked;
  const own = world.runs.find(({ id }) => id === runId)?.namespace;
  const namespace = script.namespace(isElsewhere, own);
  const armed = isBare ? undefined : armedFor(world, [world.now + minute]);
  if (isBare) arm(world, [world.now]); // by nobody: the next tick that happens looks at it
  const p = { ...looked, namespace, ...(armed !== undefined && { armed }) };
  const again = wish.isRepeat ? ", again" : "";
  const words = `upgrade ${script.letter(runId)}${wrong(isElsewhere)}${again}: ${text({ ...looked, runId: undefined })}`;
  script.call("upgrade_run", p, words, isLate, (now) => upgrade(now, namespace, looked));
}

function look(script: Script, wish: UpgradeWish): (UpgradeCall & { readonly runId: string }) | undefined {
  const { world } = script;
  const run = pick(fitting(world, wish), wish.run) ?? pick(world.runs, wish.run);
  if (run === undefined) return undefined;
  const { id: runId, version: from, namespace } = run;
  script.add("read_mail", { runId, namespace }, `look at ${script.letter(runId)}`, readMail(world, namespace, runId));
  world.numbers.operation += 1;
  const callId = `40000000-0000-4000-8000-${world.numbers.operation.toString(16).padStart(12, "0")}`;
  const { to, sawOther } = wish;
  const seen = { from, ...lookAt(run) };
  const saw = sawOther === undefined ? seen : { ...seen, [sawOther]: seen[sawOther] + 1 };
  return { runId, ...saw, to, signature: `of ${to}`, callId, by: "ada" };
}

/** The runs that would be moved. If some of them are blocked, which is rare, it is these. */
function fitting({ runs }: World, { isFitting }: UpgradeWish): readonly Run[] {
  if (!isFitting) return [];
  const isFree = (run: Run) => [run, ...run.rows].every(({ lease }) => lease === undefined);
  const free = runs.filter((run) => !isOver(run) && isFree(run));
  const blocked = free.filter(({ isBlocked }) => isBlocked);
  return blocked.length > 0 ? blocked : free;
}

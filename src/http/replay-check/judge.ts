/** Judges stored runs by the code of this deployment, and carries nothing out. */
import { readStored } from "../../client/over-postgres/stored-runs.ts";
import type { Registry } from "../../engine/registry.ts";
import { type ReplayVerdict, replayStored, type StoredRun } from "../../engine/replay/replay-stored.ts";
import { unlessRefused } from "../../engine/replay/unless-refused.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { ParkedPage } from "../../postgres/wire-replay.ts";
import { confined } from "./confined.ts";
import type { Build } from "./mount.ts";

/** What an answer tells of a verdict: not what the code asked for otherwise, which may be thousands of places. */
type WithoutAsked<Verdict> = Verdict extends unknown ? Omit<Verdict, "asked"> : never;
export type TerseVerdict = WithoutAsked<ReplayVerdict>;

/** `over`: it has ended, or was deleted. `elsewhere`: this deployment does not carry its version. */
export type Judged = { readonly runId: string } & (
  | TerseVerdict
  | { readonly outcome: "over" }
  | { readonly outcome: "elsewhere" }
);

/** A page of the runs that are not over. */
export interface Parked {
  readonly deployment: Build;
  /** The versions that this deployment carries, by workflow. */
  readonly versions: Registry["versions"];
  readonly runs: ParkedPage["runs"];
  /** Undefined: this was the last page. */
  readonly cursor: string | undefined;
}

export interface Judgements {
  readonly deployment: Build;
  readonly verdicts: readonly Judged[];
  /** The runs that are left for another request, since there was no time. */
  readonly left: readonly string[];
}

export async function judgeRun(calls: Pick<Calls, "readReplay">, registry: Registry, runId: string): Promise<Judged> {
  const stored = await readStored(calls, runId);
  if (stored === undefined) return { runId, outcome: "over" };
  const verdict = await judgeStored(registry, stored);
  if (verdict === undefined) return { runId, outcome: "elsewhere" };
  const { asked: _, ...terse } = verdict;
  return { runId, ...terse };
}

async function judgeStored(registry: Registry, stored: StoredRun): Promise<ReplayVerdict | undefined> {
  const workflow = registry.find(stored.run.workflow, stored.run.version);
  if (workflow === undefined) return undefined;
  const { result, refused } = await confined((atRest) =>
    replayStored(workflow, stored, { registry, atRest, tellsLines: true }),
  );
  return unlessRefused(result, refused);
}

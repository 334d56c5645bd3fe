/** Looks for runs that are not over, groups them, and has some of each group judged. */
import { type ExportedRun, readExport } from "../../client/exports.ts";
import type { ReplayVerdict } from "../../engine/replay/replay-stored.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { RunKey } from "../../postgres/wire-verbs.ts";
import type { Judge } from "./judge.ts";

/** Runs whose histories have the same places. */
export interface Group {
  readonly workflow: string;
  readonly version: number;
  readonly runIds: string[];
}

export interface Examined {
  readonly group: Group;
  /** The runs of the group that were replayed. */
  readonly verdicts: readonly { readonly runId: string; readonly verdict: ReplayVerdict }[];
}

export async function findGroups(
  calls: Pick<Calls, "listParked">,
  filter: { readonly workflow?: string; readonly version?: number },
): Promise<readonly Group[]> {
  const groups = new Map<string, Group>();
  for (let before: string | null | undefined; before !== null; ) {
    const page = await calls.listParked({ ...filter, ...(before !== undefined && { before }) });
    for (const { runId, workflow, version, digest } of page.runs) {
      const key = JSON.stringify([workflow, version, digest]);
      const group = groups.get(key) ?? { workflow, version, runIds: [] };
      groups.set(key, group);
      group.runIds.push(runId);
    }
    before = page.next;
  }
  return [...groups.values()];
}

/** Replays the first `most` runs of a group. A run that ended or was deleted meanwhile is left out. */
export async function examine(
  calls: Pick<Calls, "readReplay">,
  judge: Judge,
  group: Group,
  most: number,
): Promise<Examined> {
  const verdicts: Examined["verdicts"][number][] = [];
  for (const runId of group.runIds.slice(0, most)) {
    const stored = await readStored(calls, runId);
    if (stored === undefined) continue;
    verdicts.push({ runId, verdict: await judge.judge(stored) });
  }
  return { group, verdicts };
}

/** Reads a run that is not over with its whole history. Undefined: it is over, or was deleted. */
export async function readStored(calls: Pick<Calls, "readReplay">, runId: string): Promise<ExportedRun | undefined> {
  const stored = await readWhole(calls, { runId });
  return stored !== undefined && ["completed", "failed", "cancelled"].includes(stored.status) ? undefined : stored;
}

/** Reads a run with the whole history of its newest epoch. Undefined: there is none. */
export async function readWhole(calls: Pick<Calls, "readReplay">, key: RunKey): Promise<ExportedRun | undefined> {
  const first = await calls.readReplay(key);
  if (first.outcome !== "read") return undefined;
  return await readExport(async (after) => {
    const page = after === 0 ? first : await calls.readReplay({ runId: first.runId, after });
    if (page.outcome !== "read") throw new Error(`the run ${first.runId} was deleted meanwhile`);
    return page;
  });
}

/** Looks for runs that are not over, groups them, and has some of each group judged. */
import { listParked, readStored } from "../../client/over-postgres/stored-runs.ts";
import type { TerseVerdict } from "../../http/replay-check/judge.ts";
import type { Build } from "../../http/replay-check/mount.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { ParkedCall, ParkedPage } from "../../postgres/wire-replay.ts";
import type { Judge } from "./judge.ts";
import { refuseElsewhere } from "./sealed.ts";

/** Runs whose histories have the same places. */
export interface Group {
  readonly workflow: string;
  readonly version: number;
  readonly runIds: string[];
}

export interface JudgedRun {
  readonly runId: string;
  readonly verdict: TerseVerdict;
}

export interface Examined {
  readonly group: Group;
  /** The runs of the group that were replayed. */
  readonly verdicts: readonly JudgedRun[];
}

/** Finds runs, and replays its code over them: this machine does, or a deployment. */
export interface Examiner {
  /** The build whose code judges. Undefined: the code of this machine does. */
  build(): Build | undefined;
  listParked(filter: ParkedCall): Promise<ParkedPage>;
  /** Whether the code has this version. It is asked once the runs were listed. */
  carries(workflow: string, version: number): boolean;
  /** Replays runs. One that ended or was deleted meanwhile is left out. */
  judge(runIds: readonly string[]): Promise<readonly JudgedRun[]>;
}

/** Reads the database, and judges by the code of this machine. */
export function examinerHere(calls: Pick<Calls, "listParked" | "readReplay">, judge: Judge): Examiner {
  return {
    build: () => undefined,
    listParked: (filter) => listParked(calls, filter),
    carries: (workflow, version) => judge.versions[workflow]?.includes(version) === true,
    judge: async (runIds) => {
      const verdicts: JudgedRun[] = [];
      for (const runId of runIds) {
        const stored = await readStored(calls, runId);
        if (stored === undefined) continue;
        refuseElsewhere(stored, "replay-check");
        const { asked: _, ...verdict } = await judge.judge(stored);
        verdicts.push({ runId, verdict });
      }
      return verdicts;
    },
  };
}

export interface Examination {
  /** The build whose code has judged. Undefined: the code of this machine has. */
  readonly build: Build | undefined;
  readonly examined: readonly Examined[];
  /** The groups of versions that the code does not have. */
  readonly elsewhere: readonly Group[];
}

/** Replays the first `most` runs of each group. */
export async function examineAll(
  examiner: Examiner,
  filter: { readonly workflow?: string; readonly version?: number },
  most: number,
): Promise<Examination> {
  const examined: Examined[] = [];
  const elsewhere: Group[] = [];
  for (const group of await findGroups(examiner, filter)) {
    const isHere = examiner.carries(group.workflow, group.version);
    if (isHere) examined.push({ group, verdicts: await examiner.judge(group.runIds.slice(0, most)) });
    else elsewhere.push(group);
  }
  return { build: examiner.build(), examined, elsewhere };
}

async function findGroups(
  examiner: Examiner,
  filter: { readonly workflow?: string; readonly version?: number },
): Promise<readonly Group[]> {
  const groups = new Map<string, Group>();
  for (let before: string | null | undefined; before !== null; ) {
    const page = await examiner.listParked({ ...filter, ...(before !== undefined && { before }) });
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

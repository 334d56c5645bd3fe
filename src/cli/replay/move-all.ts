/** Moves many runs, some at a time, and tells how far it is. Whoever stops it loses nothing: each run is moved or is not. */
import type { WireFilter } from "../../postgres/wire-views.ts";
import { endProgress, printProgress } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { type Looker, type Mover, moveRuns, type Told } from "./move-run.ts";
import { toldOf } from "./move-text.ts";

export interface Meant {
  /** It names the workflow. */
  readonly filter: WireFilter;
  /** These alone, by layover's id. */
  readonly run?: readonly string[];
  /** How many are looked at, at most. */
  readonly limit?: number;
}

/** `isStopped`: by Ctrl-C, after a run was moved. */
export async function moveAll(
  mover: Mover,
  meant: Meant,
): Promise<{ readonly told: readonly Told[]; readonly isStopped: boolean }> {
  const told: Told[] = [];
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  process.once("SIGINT", stop);
  try {
    for await (const runIds of groupsOf(mover, meant)) {
      told.push(...(await moveRuns(mover, runIds, () => isStopped)));
      if (isStopped) break;
      if (told.length > 0 && told.length % 100 < runIds.length) printProgress(toldOf(told));
    }
  } finally {
    process.off("SIGINT", stop);
    endProgress();
  }
  return { told, isStopped };
}

/** Finds the runs that are meant, newest first, as many at a time as are looked at in a call. */
async function* groupsOf({ looker, to }: Mover, meant: Meant): AsyncGenerator<readonly string[]> {
  let group: string[] = [];
  for await (const runId of runsOf(looker, to, meant)) {
    group.push(runId);
    if (group.length < looker.most) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

async function* runsOf(
  looker: Looker,
  to: number,
  { filter, run, limit = Number.POSITIVE_INFINITY }: Meant,
): AsyncGenerator<string> {
  let count = 0;
  for (let before: string | null | undefined; before !== null; ) {
    const page = await looker.listParked({ ...filter, ...(before !== undefined && { before }) });
    const { workflow = "" } = filter;
    if (!looker.carries(workflow, to)) {
      throw new UsageError(`The code that is to judge has no version ${to} of ${workflow}.`, {
        hint: "Deploy code that has both versions first, or name the deployment that has them.",
      });
    }
    for (const { runId } of page.runs) {
      if (run !== undefined && !run.includes(runId)) continue;
      count += 1;
      if (count > limit) return;
      yield runId;
    }
    before = page.next;
  }
}

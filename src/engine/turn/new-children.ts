/** The runs that a turn starts. */
import { storedInput } from "../../core/contract/stored-input.ts";
import { type Demand, type NewRun, placeName } from "../../core/replay/demand.ts";
import { utf8Size } from "../../core/utf8-size.ts";
import type { NewChild } from "../../postgres/wire.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";

/** How many runs one finish starts, and of how many bytes of input. The next turns start the others. */
const mostChildren = 500;
const mostBytes = 4 * 1024 * 1024;

export interface NewChildren {
  readonly children: readonly NewChild[];
  /** Whether more of them are left for the next turn. */
  readonly isMore: boolean;
  /** The first one that cannot be started, since its input is wrong. */
  readonly failed: { readonly demand: Demand; readonly error: unknown } | undefined;
}

/** Makes the calls of the runs that are asked for and were not started yet: as many as one finish takes. */
export async function newChildren(loaded: LoadedRun): Promise<NewChildren> {
  const children: NewChild[] = [];
  let bytes = 0;
  for (const demand of loaded.execution.pending) {
    const { wanted } = demand;
    if ((wanted.kind !== "child" && wanted.kind !== "start") || loaded.hasRow(placeName(demand))) continue;
    let input: string;
    try {
      input = await storedInput(wanted.contract, wanted.input);
    } catch (error) {
      return { children: [], isMore: false, failed: { demand, error } };
    }
    bytes += utf8Size(input);
    if (children.length === mostChildren || (children.length > 0 && bytes > mostBytes))
      return { children, isMore: true, failed: undefined };
    children.push(toNewChild(demand, wanted, input));
  }
  return { children, isMore: false, failed: undefined };
}

function toNewChild({ path, occurrence, demandedAfter, ordinal }: Demand, wanted: NewRun, input: string): NewChild {
  const { runId, contract, id, tags, until } = wanted;
  const { name: workflow, version, timeoutMs } = contract;
  return {
    path,
    occurrence,
    demandedAfter,
    ordinal,
    runId,
    workflow,
    version,
    input,
    ...(id !== undefined && { id }),
    ...(tags !== undefined && { tags }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(until !== undefined && { until }),
    ...(wanted.kind === "start" && { isDetached: true }),
    ...(wanted.isBound && { isBound: true }),
  };
}

/** The runs that a turn starts. */
import { signatureOf } from "../../core/contract/signature.ts";
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

/**
 * Makes the calls of the runs that are asked for and were not started yet: as many as one finish takes, and no more of a
 * map than it has slots. The others need no row: each end of a run makes its parent ready, and the turn that takes the
 * end starts the next one. `now`: the database's time. `traceparent`: the trace context of the turn, if it is traced here;
 * else they get that of the run.
 */
export async function newChildren(
  loaded: LoadedRun,
  now: number,
  traceparent: string | null = loaded.origin.traceparent,
): Promise<NewChildren> {
  const children: NewChild[] = [];
  const slots = new Slots(loaded);
  let bytes = 0;
  for (const demand of loaded.execution.pending) {
    const { wanted } = demand;
    if ((wanted.kind !== "child" && wanted.kind !== "start") || loaded.hasRow(placeName(demand))) continue;
    if (!slots.hasRoomFor(demand)) continue;
    let input: string;
    try {
      input = await storedInput(wanted.contract, wanted.input, { maxBytes: loaded.room.valueBytes });
    } catch (error) {
      return { children: [], isMore: false, failed: { demand, error } };
    }
    bytes += utf8Size(input);
    if (children.length === mostChildren || (children.length > 0 && bytes > mostBytes))
      return { children, isMore: true, failed: undefined };
    slots.take(demand);
    children.push(toNewChild(demand, { wanted, input, until: untilOf(demand, wanted, loaded, now), traceparent }));
  }
  return { children, isMore: false, failed: undefined };
}

/** Counts the runs that each map of a limited `maxConcurrency` waits for. */
class Slots {
  readonly #taken = new Map<string, number>();

  constructor(loaded: LoadedRun) {
    for (const demand of loaded.execution.pending) if (loaded.hasRow(placeName(demand))) this.take(demand);
  }

  hasRoomFor({ map, wanted }: Demand): boolean {
    if (map === undefined || map.slots === null || wanted.kind !== "child") return true;
    return (this.#taken.get(map.path) ?? 0) < map.slots;
  }

  take({ map, wanted }: Demand): void {
    if (map === undefined || map.slots === null || wanted.kind !== "child") return;
    this.#taken.set(map.path, (this.#taken.get(map.path) ?? 0) + 1);
  }
}

/** When the wait for a new run ends. Where it had to wait for a slot, its timeout counts from its start. */
function untilOf(demand: Demand, { timeoutMs }: NewRun, loaded: LoadedRun, now: number): number | undefined {
  if (demand.map === undefined || demand.map.slots === null) return loaded.untilOf(demand);
  return timeoutMs === undefined ? undefined : now + timeoutMs;
}

interface Given {
  readonly wanted: NewRun;
  readonly input: string;
  readonly until: number | undefined;
  readonly traceparent: string | null;
}

function toNewChild(
  { path, occurrence, demandedAfter, ordinal }: Demand,
  { wanted, input, until, traceparent }: Given,
): NewChild {
  const { contract, id, tags } = wanted;
  const { name: workflow, version, timeoutMs } = contract;
  return {
    path,
    occurrence,
    demandedAfter,
    ordinal,
    runId: wanted.runId(undefined),
    workflow,
    version,
    signature: signatureOf(contract),
    input,
    ...(id !== undefined && { id }),
    ...(tags !== undefined && { tags }),
    ...(traceparent !== null && { traceparent }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(until !== undefined && { until }),
    ...(wanted.kind === "start" && { isDetached: true }),
    ...(wanted.isBound && { isBound: true }),
  };
}

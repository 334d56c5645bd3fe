/** Makes the pending rows of what a handler waits for. */
import { type Demand, placeName } from "../../core/replay/demand.ts";
import type { NewDemand } from "../../postgres/wire.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";

/** Makes those that are not there yet. */
export function newDemands(loaded: LoadedRun): readonly NewDemand[] {
  return loaded.execution.pending
    .filter((demand) => !isNewRun(demand) && !loaded.hasRow(placeName(demand)))
    .map((demand) => toNewDemand(demand, loaded.untilOf(demand)));
}

/** Whether it asks for another run, which is started by a call of its own. */
export function isNewRun({ wanted }: Demand): boolean {
  return wanted.kind === "child" || wanted.kind === "start";
}

/** `until`: when it ends. */
function toNewDemand(demand: Demand, until: number | undefined): NewDemand {
  const { path, occurrence, demandedAfter, ordinal, map, isShielded, wanted } = demand;
  const place = { path, occurrence, demandedAfter, ordinal, ...(isShielded && { isShielded }) };
  switch (wanted.kind) {
    case "close":
    case "child":
    case "start":
    case "continueAsNew":
      throw new Error(`${path} has no row of this kind`);
    case "step":
      return { ...place, kind: "branch", ...(map !== undefined && { map }) };
    case "sleep":
      return { ...place, kind: "sleep", until: until ?? wanted.until };
    default:
      return {
        ...place,
        kind: wanted.kind,
        ...(until !== undefined && { until }),
        ...(wanted.kind === "signal" && { signal: wanted.name }),
        ...(wanted.epoch !== undefined && { callbackEpoch: wanted.epoch }),
      };
  }
}

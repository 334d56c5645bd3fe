/** Makes the pending row of what a handler waits for. */
import type { Demand } from "../../core/replay/demand.ts";
import type { NewDemand } from "../../postgres/wire.ts";

/** `until`: when it ends. */
export function toNewDemand(demand: Demand, until: number | undefined): NewDemand {
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

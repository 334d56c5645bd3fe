/** Makes the pending row of what a handler waits for. */
import type { Demand } from "../../core/replay/demand.ts";
import type { NewDemand } from "../../postgres/wire.ts";

export function toNewDemand({ path, occurrence, demandedAfter, ordinal, map, isShielded, wanted }: Demand): NewDemand {
  const place = { path, occurrence, demandedAfter, ordinal, ...(isShielded && { isShielded }) };
  switch (wanted.kind) {
    case "close":
      throw new Error(`${path} is decided before its run is parked`);
    case "step":
      return { ...place, kind: "branch", ...(map !== undefined && { map }) };
    case "sleep":
      return { ...place, kind: "sleep", until: wanted.until };
    default:
      return {
        ...place,
        kind: wanted.kind,
        ...(wanted.until !== undefined && { until: wanted.until }),
        ...(wanted.kind === "signal" && { signal: wanted.name }),
      };
  }
}

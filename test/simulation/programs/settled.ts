/** One item of `Promise.allSettled` or `step.mapSettled`, as it is returned. */
import type { Settled } from "layover";
import { thrownOf } from "./thrown.ts";

export function settled(item: Settled<unknown>): unknown {
  return item.status === "fulfilled" ? { ok: item.value } : { failed: thrownOf(item.reason) };
}

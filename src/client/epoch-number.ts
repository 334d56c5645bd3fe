/** An epoch of a run, as somebody names it. */
import { LayoverError } from "../core/errors.ts";

/** @throws LayoverError `invalid_request` */
export function checkEpoch(epoch: number | undefined): { readonly epoch?: number } {
  if (epoch === undefined) return {};
  if (Number.isInteger(epoch) && epoch >= 0 && epoch <= 2_147_483_647) return { epoch };
  throw new LayoverError("invalid_request", `epoch: ${String(epoch)} is no epoch of a run`, {
    hint: "Give the `epoch` of the run as you have seen it, or leave it out.",
    details: { field: "epoch" },
  });
}

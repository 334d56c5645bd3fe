/** An epoch of a run, as somebody names it. */
import { checkWhole } from "./whole-number.ts";

/** @throws LayoverError `invalid_request` */
export function checkEpoch(epoch: number | undefined): { readonly epoch?: number } {
  if (epoch === undefined) return {};
  const hint = "Give the `epoch` of the run as you have seen it, or leave it out.";
  return { epoch: checkWhole("epoch", epoch, hint, [0]) };
}

/** A sender that signs nothing. */
import type { Verifier } from "../verifier.ts";
import { jsonOf } from "./signature.ts";

/**
 * Takes requests from everybody. `reason`: why nobody else can send them, for whoever reads the code: "only our network
 * reaches it".
 *
 * @example none({ reason: "only our network reaches it" })
 */
export function none({ reason }: { readonly reason: string }): Verifier<unknown, unknown> {
  if (reason.trim() === "") throw new TypeError("none: say in `reason` why nobody else can send such requests");
  return {
    sender: "anybody",
    hasNoIds: true,
    verify({ body }) {
      const event = jsonOf(body);
      if ("outcome" in event) return event;
      return { outcome: "verified", event: event.value, delivery: undefined, isIdSigned: false };
    },
  };
}

/** What nobody finds out about deliveries of webhooks, and the signals that they keep (see explained.ts). */
import type { Explanation } from "./explained.ts";

export const ofWebhooks: readonly Explanation[] = [
  {
    why: "check_key lets a call pass that names no key.",
    mutants: ["receive_delivery: p ? 'keyId' → true"],
  },
  {
    why: "Costs time only: no body is that of a delivery whose sender names none.",
    mutants: ["receive_delivery: p ? 'bodyMac' → true"],
  },
  {
    why: "No run has the id null, so send_signal does not know it either.",
    mutants: ["carry_out_deeds: v_item.run_id is null → false"],
  },
  {
    why: "`select into` takes the first row, and locks no other.",
    mutants: ["receive_delivery: limit 1 → nothing"],
  },
];

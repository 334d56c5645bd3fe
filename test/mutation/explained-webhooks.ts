/** What nobody finds out about deliveries of webhooks, and the signals that they keep (see explained.ts). */
import type { Explanation } from "./explained.ts";

export const ofWebhooks: readonly Explanation[] = [
  {
    why: "check_key lets a call pass that names no key.",
    mutants: [
      "receive_delivery: p ? 'keyId' → true",
      "get_delivery: p ? 'keyId' → true",
      "list_deliveries: p ? 'keyId' → true",
    ],
  },
  {
    why: "Costs time only: no body is that of a delivery whose sender names none.",
    mutants: ["receive_delivery: p ? 'bodyMac' → true", "receive_delivery: p ? 'bodyMac' → true (2)"],
  },
  {
    why: "No run has the id null, so send_signal does not know it either.",
    mutants: ["carry_out_deeds: v_item.run_id is null → false"],
  },
  {
    why: "The number of a kept signal is drawn for the whole table; the rest is how the index finds it.",
    mutants: [
      "send_kept_signals: o.namespace = u.namespace → true",
      "send_kept_signals: o.workflow = u.workflow → true",
      "send_kept_signals: o.user_id = u.user_id → true",
    ],
  },
  {
    why: "What has expired is due.",
    mutants: ["send_kept_signals: e.due_at <= v_now → true"],
  },
  {
    why: "`select into` takes the first row, and locks no other.",
    mutants: ["receive_delivery: limit 1 → nothing"],
  },
  {
    why: "The key of the last delivery of the page before tells all that came later. This bound has the index begin there.",
    mutants: [
      "list_deliveries: j.received_at < v_before → true",
      "list_deliveries: j.received_at < v_before and ( → j.received_at <= v_before and (",
    ],
  },
  {
    why: "The next claim looks for mail that is not there, and finds none.",
    mutants: ["take_kept: found → true"],
  },
  {
    why: "Costs time only: take_kept finds nothing for runs for which nothing is kept.",
    mutants: [
      "take_kept_of_claimed: exists (select from layover.kept_signal u where u.namespace = r.namespace and u.workflow = r.work... → true",
      "take_kept_of_claimed: u.namespace = r.namespace → true",
      "take_kept_of_claimed: u.workflow = r.workflow → true",
      "take_kept_of_claimed: u.user_id = r.user_id → true",
      "take_kept_of_claimed: cardinality(v_takers) = 0 → false",
    ],
  },
  {
    why: "The number alone says which signal it is. The other columns find it by the key.",
    mutants: [
      "leave_kept: o.namespace = u.namespace → true",
      "leave_kept: o.workflow = u.workflow → true",
      "leave_kept: o.user_id = u.user_id → true",
    ],
  },
  {
    why: "The signal itself is deleted by then.",
    mutants: ["leave_kept: o.number > u.number → o.number >= u.number"],
  },
  {
    why: "The older one of two goes first. If somebody else has locked it, the delivery is told a look later, when it goes.",
    mutants: ["leave_kept: o.number > u.number → true"],
  },
];

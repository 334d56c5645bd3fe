/** Explanations of mutants of what a store of the user's keeps. */
import type { Explanation } from "./explained.ts";

export const ofValues: readonly Explanation[] = [
  {
    why: "A key holds one value and is of one namespace, so each row of the key says the same of it.",
    mutants: ["share_value: o.run_id = of_run → true"],
  },
  {
    why: "Second line: a copy holds nothing before it is made.",
    mutants: ["share_values: on conflict do nothing → nothing"],
  },
  {
    why: "Of rows whose runs are gone only forget_values locks several and waits, so any order will do if it is always the same one.",
    mutants: ["forget_values: order by o.key, o.run_id → order by o.key desc, o.run_id desc"],
  },
  {
    why: "The order of the locks alone: what is deleted is locked by that. Two who forget the same keys at once would meet a deadlock, and call again.",
    mutants: ["forget_values: for update → nothing"],
  },
  {
    why: "No other run holds the key there: the condition before has looked.",
    mutants: ["sweep_values: o.run_id = v.run_id → true (3)"],
  },
  {
    why: "Costs time only: the smallest of instants leaves out what is null, and the index has no such rows.",
    mutants: ["sweep_values: o.look_at is not null → true"],
  },
  {
    why: "Costs time only: no text of that size begins like the name of a stored value.",
    mutants: ["value_bytes: octet_length(value) < 1024 → true"],
  },
];

/** Explanations of mutants of what a store of the user's keeps. */
import type { Explanation } from "./explained.ts";

export const ofValues: readonly Explanation[] = [
  {
    why: "A key holds one value and is of one namespace, so each row of the key says the same of it.",
    mutants: ["share_value: o.run_id = of_run → true"],
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

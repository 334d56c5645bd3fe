/** Explanations of mutants of what people ask of runs: cancel, pause, repair, delete, many at once. */
import type { Explanation } from "./explained.ts";

export const ofVerbs: readonly Explanation[] = [
  {
    why: "Costs time only: the first one is taken all the same.",
    mutants: ["check_filter: limit 1 → nothing"],
  },
  {
    why: "What follows asks for the namespace and for the run again, under the same lock.",
    mutants: [
      "accept_announcement: t.namespace = accept_announcement.namespace → true",
      "accept_announcement: not found → false",
    ],
  },
  {
    why: "Only a run whose start was delayed is untouched, and no such run has a parent.",
    mutants: [
      "cancel_run: v_others := layover.tell_parent(v_run, p->'armed'); → null;",
      "cancel_run: v_others is null → true",
    ],
  },
  {
    why: "Two locks of one row, one after the other: each of them is enough.",
    mutants: [
      "cancel_run: perform layover.lock_families(array[v_run], false); → null;",
      "cancel_run: for update → nothing",
    ],
  },
];

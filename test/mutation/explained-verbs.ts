/** Explanations of mutants of what people ask of runs: cancel, pause, repair, delete, many at once. */
import type { Explanation } from "./explained.ts";

export const ofVerbs: readonly Explanation[] = [
  {
    why: "Costs time only: the first one is taken all the same.",
    mutants: ["check_filter: limit 1 → nothing", "find_open_child: limit 1 → nothing"],
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
    why: "lock_families locks the run and its pending rows, as what follows does: each of both is enough.",
    mutants: [
      "cancel_run: perform layover.lock_families(array[v_run], false); → null;",
      "cancel_run: for update → nothing",
      "cancel_run: order by b.path, b.occurrence → order by b.path desc, b.occurrence desc",
      "cancel_run: for update → nothing (2)",
    ],
  },
  {
    why: "A place belongs to one kind: names are counted over all kinds.",
    mutants: ["find_open_child: h.kind = 'child' → true"],
  },
  {
    why: "An answer that came for a URL which is dead by now is handed to nobody (read_answers).",
    mutants: ["begin_epoch: s.epoch + 1)) → s.epoch ))"],
  },
  {
    why: "Nothing that was added to null is null, which counts as no shift.",
    mutants: ["begin_epoch: coalesce(s.ended_at, v_now) → coalesce(s.ended_at)"],
  },
  {
    why: "A run is ready since 'epoch' once it was answered, which is before every instant. Of a run that is ready already one dispatch too many is told that it is busy.",
    mutants: [
      "answer_callback: s.ready_at <= layover.now → s.ready_at < layover.now",
      "answer_callback: s.status = 'parked' → true (2)",
      "answer_callback: (s.ready_at is null or s.ready_at > v_now) → true",
      "answer_callback: s.ready_at > v_now); → s.ready_at >= v_now);",
    ],
  },
  {
    why: "A branch goes alone, and may be set back, only after it has lost leases: what was spared stands.",
    mutants: [
      "claim_branch: , spared = case when b.lost = 0 then 0 else b.spared end → nothing",
      "claim_branch: b.lost = 0 → false",
    ],
  },
  {
    why: "Costs time only: is_of_version answers the same, and looks for it.",
    mutants: ["claim_branches: i.turn->'have' ? 'version' → false"],
  },
];

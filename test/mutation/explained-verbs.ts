/** Explanations of mutants of what people ask of runs: cancel, pause, repair, delete, many at once. */
import type { Explanation } from "./explained.ts";

export const ofVerbs: readonly Explanation[] = [
  {
    why: "Costs time only: the error names the first one all the same.",
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
    why: "lock_steady_families, or lock_families, has locked the run already.",
    mutants: [
      "cancel_run: for update → nothing",
      "terminate_run: for update → nothing",
      "delete_run: for update → nothing",
    ],
  },
  {
    why: "A condition that is null selects as little as one that is false.",
    mutants: [
      "find_open_child: coalesce(t.cancel_requested_at < p.cancel_requested_at, true) → coalesce(t.cancel_requested_at < p.cancel_requested_at)",
    ],
  },
  {
    why: "Whoever ends a run has locked it with all that it waits for (lock_families): these locks are taken a second time.",
    mutants: [
      "end_run: order by b.path, b.occurrence → order by b.path desc, b.occurrence desc",
      "end_run: for update → nothing",
    ],
  },
  {
    why: "Null is not more than 0: a call that names no position asks for the first page all the same.",
    mutants: ["export_run: coalesce((p->>'after')::integer, 0) → coalesce((p->>'after')::integer)"],
  },
  {
    why: "Once a run owes undos it has no timeout, and no cancel can be asked for.",
    mutants: ["ends_in_time: t.ending_position is not null → false"],
  },
  {
    why: "Costs time only: the walk leaps over ids that cannot fit, and each run that it meets is looked at for all that was asked for.",
    mutants: [
      "find_runs: least((p->>'createdBefore')::bigint, (p->>'endedBefore')::bigint) → greatest(…)",
      "find_runs: v_created_before < v_now → true",
      "find_runs: ; if v_created_before < v_now then v_start → ; if v_created_before <= v_now then v_start",
      "find_runs: ; if v_run >= v_start and v_run → ; if v_run > v_start and v_run",
      "find_runs: v_start and v_run < v_newest then close → v_start and v_run <= v_newest then close",
    ],
  },
  {
    why: "The cursor holds the runs of that parent alone.",
    mutants: ["find_runs: (not p ? 'parent' or r.parent_run_id = (p->>'parent')::uuid) → true"],
  },
  {
    why: "Nothing in, nothing out: no tags and an object of none are the same to what follows.",
    mutants: ["find_runs: coalesce(p->'tags', '{}') → coalesce(p->'tags')"],
  },
  {
    why: "No rules at all and an object of none are the same to what follows.",
    mutants: [
      "find_retention: coalesce(jsonb_object_agg(q.workflow, q.keeps), '{}') → coalesce(jsonb_object_agg(q.workflow, q.keeps))",
    ],
  },
  {
    why: "finish_turn asks for it again, and whatever it answers but `finished` raises.",
    mutants: [
      "finish_once: t.namespace = p->>'namespace' → true",
      "finish_once: t.last_position = (f->>'position')::integer → true",
    ],
  },
  {
    why: "A difference to null is null, and cut_segments counts that as no shift.",
    mutants: ["begin_epoch: coalesce(s.ended_at, v_now) → coalesce(s.ended_at)"],
  },
  {
    why: "A run at work was ready when it was claimed, and stays so. Of a run that is ready already one dispatch too many is told that it is busy.",
    mutants: [
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
  {
    why: "Costs time only: an act on many runs drops these bodies at the end of its page anyway.",
    mutants: ["delete_run: not p ? 'isOneOfMany' → true"],
  },
];

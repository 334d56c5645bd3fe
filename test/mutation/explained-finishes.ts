/** What nobody finds out about finishes, and about what is read (see explained.ts). */
import type { Explanation } from "./explained.ts";

export const ofFinishes: readonly Explanation[] = [
  {
    why: "Costs time only: a column that must not be null refuses the row, and the set is done again item by item.",
    mutants: [
      "finish_branches: not found → false",
      "finish_branches: coalesce((u.turn->>'bytes')::integer, 0) → coalesce((u.turn->>'bytes')::integer)",
      "finish_branches: i.count > 0 → true",
      "finish_branches: i.count > 0 ), → i.count >= 0 ),",
      "finish_runs: coalesce((i.turn->>'bytes')::integer, 0) → coalesce((i.turn->>'bytes')::integer)",
      "finish_runs: coalesce(layover.from_ms((i.records->-1->>'at')::bigint), t.last_record_at) → coalesce(layover.from_ms((i.records->-1->>'at')::bigint))",
      "finish_runs: coalesce((r.item->>'attempts')::integer, 1) → coalesce((r.item->>'attempts')::integer)",
      "finish_runs: coalesce((r.item->>'isFailure')::boolean, false) → coalesce((r.item->>'isFailure')::boolean)",
    ],
  },
  {
    why: "A branch that is recorded is claimed no more.",
    mutants: ["finish_branches: , claims = 0 → nothing", "finish_branches: , beginnings = 0 → nothing"],
  },
  {
    why: "Costs time only: the set raises, and is done again item by item.",
    mutants: [
      "finish_runs: layover.may_run(t, v_now) → false",
      "finish_runs: ; if v_count < cardinality(turns → ; if v_count <= cardinality(turns",
    ],
  },
  {
    why: "What blocks a run under its turn is a branch of it, and a run with a pending row is done alone.",
    mutants: [
      "finish_runs: , blocked = case when not i.is_over then t.blocked end → nothing",
      "finish_runs: not i.is_over → true (4)",
      "finish_runs: not i.is_over → false (2)",
    ],
  },
  {
    why: "Only the holder of the token adds pending rows, and without one only it appends records: what the look without the lock saw stands for as long as the token does.",
    mutants: ["finish_runs: t.last_position = i.position → true", "finish_runs: not t.has_pending → true"],
  },
  {
    why: "A token is drawn for one claim, so it stands in one row; the place is how that is found.",
    mutants: ["finish_branches: b.path = i.path → true"],
  },
  {
    why: "What belongs to no map joins with no map.",
    mutants: ["finish_branches: i.map is not null → true"],
  },
  {
    why: "What is not found has no token.",
    mutants: ["finish_branch: not found → false (2)"],
  },
  {
    why: "An attempt comes without a record, whose failure is null then, and null continues nothing.",
    mutants: [
      "finish_branch: v_is_recorded → true (2)",
      "finish_branch: coalesce(v_continues, false) → coalesce(v_continues)",
    ],
  },
  {
    why: "Costs time only: finish_run, and the claim after it, come to the same as finish_step where the run goes on, also where that has moved the run already.",
    mutants: [
      "finish_turn: layover.is_one_step(f) → false",
      "finish_turn: v_answer := layover.finish_step(p, f); → null;",
      "finish_turn: v_answer is not null → false",
    ],
  },
  {
    why: "Costs time only: writes what stands there.",
    mutants: ["keep_input: not e.is_input_parsed → true", "upgrade_run: b.dispatches <> 0 → true"],
  },
  {
    why: "Early, never late: the first branches that a run demands may keep an earlier look.",
    mutants: ["finish_run: f ? 'demands' → false"],
  },
  {
    why: "Costs time only: looks for what is not there.",
    mutants: [
      "finish_run: s.has_pending → true",
      "finish_run: s.has_pending → true (2)",
      "finish_run: s.has_mail → true",
      "finish_run: f->'records' @> '[{\"kind\": \"callback\"}]' → true",
      "finish_run: f ? 'demands' → true",
      "finish_run: f ? 'released' → true",
    ],
  },
  {
    why: "The same claim or finish again is told the same.",
    mutants: ["claim_or_finish: v_answers[v_part.places[v_number]] is not null → false"],
  },
  {
    why: "No wait for a signal lacks its name, and nothing else has one: a check of the table says so.",
    mutants: ["has_answer: b.kind = 'signal' → true"],
  },
  {
    why: "Nothing comes after null, and nothing after the greatest number.",
    mutants: [
      "describe_claimed: coalesce((have->>'rowsThrough')::integer, 2147483647) → coalesce((have->>'rowsThrough')::integer)",
    ],
  },
];

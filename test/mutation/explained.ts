/**
 * Mutants that nobody finds out, and why each of them changes nothing that anybody relies on. An explanation whose mutant
 * is gone, or is found out after all, is an error: `main.ts` says so.
 */
import { ofEpochs } from "./explained-epochs.ts";
import { ofFinishes } from "./explained-finishes.ts";
import { ofOthers } from "./explained-others.ts";
import { ofRuns } from "./explained-runs.ts";
import { ofSchedules } from "./explained-schedules.ts";
import { ofValues } from "./explained-values.ts";
import { ofVerbs } from "./explained-verbs.ts";
import { ofWebhooks } from "./explained-webhooks.ts";

export interface Explanation {
  readonly why: string;
  readonly mutants: readonly string[];
}

export const explained: readonly Explanation[] = [
  ...ofEpochs,
  ...ofFinishes,
  ...ofOthers,
  ...ofRuns,
  ...ofValues,
  ...ofVerbs,
  ...ofSchedules,
  ...ofWebhooks,
  {
    why: "Costs time only: what the set leaves out is done alone, in its place.",
    mutants: [
      "claim_branches: not layover.claim_environment(p) → true",
      "claim_branches: not found → true",
      "finish_branches: not found → true",
      "claim_branches: v_now := layover.now(); → null;",
      "claim_branches: b.ready_at <= v_now and layover → b.ready_at < v_now and layover",
      "claim_turns: jsonb_array_length(p->'turns') = 1 → false",
    ],
  },
  {
    why: "Costs time only: what is asked first says whether the function behind it has anything to do, which asks for it again.",
    mutants: [
      "claim_turns: current_setting('transaction_isolation') <> 'read committed' → true",
      "claim_turns: p->'turns' @> '[{\"turn\": 1}]' → true",
      "claim_turns: exists (select from layover.kept_signal u where u.namespace = p->>'namespace') → true",
      "claim_turns: u.namespace = p->>'namespace' → true",
      "claim_turns: v_left > 0 → true",
      "claim_turns: ; if v_left > 0 then p → ; if v_left >= 0 then p",
      "claim_turns: layover.is_too_late(p) → true",
      "claim_environment: v_identity is null → true",
    ],
  },
  {
    why: "Costs time only: reclaim_run knows all that claim_runs does for one run, and answers a token that stands alike.",
    mutants: [
      "claim_turn: found → false",
      "claim_runs: cardinality(turns) = 1 → false",
      "claim_runs: not t.has_pending → false",
    ],
  },
  {
    why: "Costs time only: a set that raises is done again item by item.",
    mutants: [
      "claim_runs: v_count < cardinality(turns) → true",
      "claim_runs: ; if v_count < cardinality(turns → ; if v_count <= cardinality(turns",
      "claim_runs: t.ready_at <= layover.now → t.ready_at < layover.now",
      "finish_runs: v_count < cardinality(turns) → true",
    ],
  },
  {
    why: "Costs time only: the set is asked, and leaves out or refuses under the lock what is not plain.",
    mutants: [
      "in_stretches: i.turn ? 'record' and not i.turn ?| '{attempt,blocked,says}' → false",
      "in_stretches: i.turn->'alone' = 'false' → false",
      "in_stretches: i.turn ? 'next' → true",
      "in_stretches: i.turn ? 'next' → false",
      "in_stretches: case when i.turn ? 'next' then t.token = (i.turn->>'token')::uuid and t.last_position = (i.turn->... → false",
      "in_stretches: t.token = (i.turn->>'token')::uuid → true",
      "in_stretches: t.last_position = (i.turn->>'position')::integer → true",
      "in_stretches: t.status = 'parked' → true",
      "in_stretches: t.turn = (i.turn->>'turn')::integer → true",
      "in_stretches: t.ready_at <= v_now → true",
    ],
  },
  {
    why: "Costs time only: the set raises, and is done again item by item.",
    mutants: ["finish_runs: i.claim_token is null → false"],
  },
  {
    why: "Costs time only: what is read where there is nothing is null as well.",
    mutants: [
      "claim_branch: branch.demanded_after > coalesce(v_have, 0) → true",
      "claim_branch: branch.demanded_after > coalesce(v_have → branch.demanded_after >= coalesce(v_have",
      "claim_branches: b.demanded_after > coalesce(i.have, 0) → true",
      "claim_branches: b.demanded_after > coalesce(i → b.demanded_after >= coalesce(i",
      "describe_claimed: s.last_position > coalesce(v_have, 0) → true",
      "describe_claimed: s.last_position > coalesce(v_have → s.last_position >= coalesce(v_have",
      "defer_run: f ? 'demands' → true",
      "defer_run: f ? 'released' → true",
      "describe_claimed: s.has_pending → true",
      "describe_claimed: s.has_mail → true",
      "describe_claimed: s.has_mail → true (2)",
    ],
  },
  {
    why: "Says to the planner what the primary key says already.",
    mutants: ["claim_branches: limit 1 → nothing", "finish_branches: limit 1 → nothing"],
  },
  {
    why: "Locks more than it needs, in the one order all the same.",
    mutants: [
      "claim_branch: t.namespace = p->>'namespace' → true",
      "claim_branches: b.kind = 'branch' → true",
      "claim_or_finish: i.turn ? 'path' → true",
      "claim_or_finish: exists (select from layover.pending b where b.run_id = (v_turn->>'runId')::uuid and b.is_released) → true",
      "claim_or_finish: b.is_released → true",
      "claim_or_finish: b.run_id = (v_turn->>'runId')::uuid → true",
      "claim_or_finish: v_turn->>'runId' = any (v_branching) → true",
      "refresh_pending: b.is_released → true (2)",
    ],
  },
  {
    why: "A run that is over has no pending row: whoever ends it deletes them under its lock, and a branch's call finds none.",
    mutants: [
      "claim_branch: layover.is_over(s.status) → false",
      "may_be_due: t.ended_at is null → true",
      "set_back_branch: t.ended_at is null → true",
      "claim_branches: t.ended_at is null → true",
      "refuse_run: t.ended_at is null → true",
    ],
  },
  {
    why: "A run without pending rows that was ready stays so until its turn is over, and every pending row comes with a finish, which ends the turn.",
    mutants: ["claim_runs: (cardinality(turns) = 1 or not t.has_pending) → true"],
  },
  {
    why: "A place belongs to one kind: names are counted over all kinds.",
    mutants: ["answer_callback: b.kind = 'callback' → true"],
  },
  {
    why: "A token is drawn for one claim, so it stands in one row; the place is how that is found.",
    mutants: ["move_leases: b.path = i.path → true", "move_leases: b.occurrence = i.occurrence → true"],
  },
  {
    why: "Early, never late: the motion minute stands in any case, and its tick arms what comes next. It costs one tick.",
    mutants: [
      "engine: the retry of a branch arms nothing",
      "engine: a plan does not arm the run's timeout",
      "engine: a plan does not arm the next attempt",
      "engine: a plan does not arm its waits",
    ],
  },
  {
    why: "Called only where there is such a record.",
    mutants: ["expire_callbacks: coalesce(records, '[]') → coalesce(records)"],
  },
];

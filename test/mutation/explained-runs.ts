/** Explanations of mutants that change how the rows of runs are asked for, locked and counted (see explained.ts). */
import type { Explanation } from "./explained.ts";

export const ofRuns: readonly Explanation[] = [
  {
    why: "Costs time only: the function behind it asks for the same, and does nothing where it is not there.",
    mutants: [
      "finish_run: not f ?| '{closes,announces}' → false",
      "finish_run: v_record->>'kind' <> 'step' → true",
      "finish_run: f ? 'patches' → true",
      "finish_run: s.children > 0 → true",
      "finish_run: s.children > 0 then v_others → s.children >= 0 then v_others",
      "finish_turn: f ? 'announces' → true",
      "reclaim_run: s.refused_by is not null → true",
      "start_children: b.child_value like '2stored.%' → true",
      "tell_parent: v_value like '2stored.%' → true",
      "tell_parent: v_parent is null → false",
      "start_run: layover.is_wrongly_armed(p) → true",
      "finish_turns: current_setting('transaction_isolation') <> 'read committed' → true",
      "finish_turns: layover.is_wrongly_armed(p) → true",
      "is_wrongly_armed: p ? 'rings' → true",
      "move_due: s.refused_by is not null → true",
      'leave_children: records @> \'[{"kind": "child"}]\' → true',
      "list_elsewhere: not p->'versions' @> d.versions → true",
      "delete_rows: v_parent is not null → true",
    ],
  },
  {
    why: "Costs time only: a family that cannot grow is looked at once more.",
    mutants: [
      "lock_families: not exists (select from layover.run_state t where t.run_id = any (runs) and t.children > 0) → false",
      "lock_families: t.run_id = any (runs) → true",
      "lock_families: t.children > 0 → true",
      "lock_families: t.children > 0) or → t.children >= 0) or",
    ],
  },
  {
    why: "Costs time only: what the claim answers of the run drops these rows, too (refresh_pending).",
    mutants: ["reclaim_run: perform layover.drop_rows(v_run); → null;"],
  },
  {
    why: "A turn that goes alone has lost three leases or more, so what was spared stands.",
    mutants: [
      "reclaim_run: , spared = case when t.lost = 0 then 0 else t.spared end → nothing",
      "reclaim_run: t.lost = 0 → false",
    ],
  },
  {
    why: "Of what a turn demands, branches alone have an instant at which they are ready.",
    mutants: ["record_demands: a.kind = 'branch' → true"],
  },
  {
    why: "Branches and steps between their attempts alone are tried, and the latter are told anyway.",
    mutants: ["refresh_pending: b.kind = 'branch' → true"],
  },
  {
    why: "A run that is over has no branch that may be refused, and no turn that ends its run is.",
    mutants: ["refuse_run: coalesce(v_is_blocked, true) → coalesce(v_is_blocked)"],
  },
  {
    why: "A run that stops at no instant may start others: it is refused where that is untrue, not where it is unknown.",
    mutants: ["start_children: coalesce(layover.stops_at(t) > v_now, true) → coalesce(layover.stops_at(t) > v_now)"],
  },
  {
    why: "Nobody can wait for rows that nobody can see yet, so their order is free.",
    mutants: ["start_children: order by i.id → order by i.id desc"],
  },
  {
    why: "Costs time only: who has ended has told so, but for one that a retry takes up again.",
    mutants: ["start_children: s.is_retried → true (2)"],
  },
  {
    why: "The turn that nobody's code fits has no instant at which its run is looked at (finish_run, refuse_run).",
    mutants: ["take_back_retry: , due_at = null → nothing"],
  },
  {
    why: "Its caller has written the end.",
    mutants: ["tell_parent: t.ended_at is not null → true"],
  },
  {
    why: "What has no token has no lease: the tests hold that rule for each row (rules-of-states.sql).",
    mutants: ["upgrade_run: b.token is not null → true"],
  },
  {
    why: "The names that a run has closed are the same with none added, and no name at all is closed by null or by an empty list.",
    mutants: ["finish_run: f ? 'closes' → true"],
  },
  {
    why: "Only a turn that fails its run says what failed. Nobody reads that of a run that has not failed.",
    mutants: ["finish_run: v_next = 'failed' → true"],
  },
  {
    why: "A token is drawn for one claim, so it stands in one row.",
    mutants: [
      "finish_run: t.run_id = (f->>'runId')::uuid → true (2)",
      "finish_run: t.run_id = (f->>'runId')::uuid → true (3)",
      "finish_run: t.run_id = (f->>'runId')::uuid → true (4)",
    ],
  },
  {
    why: "Locks a run that has no family, and nothing else. An update that does not match has locked nothing, but what follows here locks the same run.",
    mutants: ["finish_run: t.has_parent → true (2)"],
  },
  {
    why: "Nobody is told of the end of a run that nobody waits for. The answer names the other runs that are ready by an empty list, which says the same as no list.",
    mutants: ["finish_run: s.has_parent → true", "finish_run: s.has_parent → true (2)"],
  },
  {
    why: "A run whose retry is taken back waits for nobody, so its finish has asked no run to end, and names the parent alone. No list says the same as an empty one.",
    mutants: [
      "finish_run: coalesce(layover.tell_parent(s.run_id, f->'armed')::jsonb, '[]') → coalesce(layover.tell_parent(s.run_id, f->'armed')::jsonb) (2)",
    ],
  },
  {
    why: "A finish that is no more the run's finds no row when it is deferred. One that is, and saw less, has no end in time either way.",
    mutants: [
      "finish_run: t.namespace = p->>'namespace' → true (3)",
      "finish_run: t.token = (f->>'token')::uuid → true (3)",
      "finish_run: t.last_position = (f->>'position')::integer → true (3)",
      "finish_run: t.namespace = p->>'namespace' → true (4)",
      "finish_run: t.token = (f->>'token')::uuid → true (4)",
    ],
  },
  {
    why: "Only a turn that nobody's code fits names its deployment; and one without a name speaks for all, as refuse_run does then.",
    mutants: ["finish_run: v_next = 'blocked' → true (2)", "finish_run: f ? 'deployment' → true"],
  },
  {
    why: "A run that another one waits for ends alone: the look (in_stretches) says so, and so does the set.",
    mutants: [
      "finish_runs: not t.has_parent → true",
      "in_stretches: not (t.has_parent and layover.is_over(i.turn->>'next')) → true",
      "in_stretches: t.has_parent → true",
      "in_stretches: layover.is_over(i.turn->>'next') → true",
    ],
  },
  {
    why: "Costs time only: the set raises, or there is none, and all is done item by item.",
    mutants: [
      "finish_runs: not i.is_over → false (3)",
      "finish_runs: not t.has_parent and layover.ends_in_time(t, i.records) → false",
      "in_stretches: not are_sets → true",
      "in_stretches: i.turn ? 'record' → true",
      "in_stretches: t.lost < 2 → true",
      "in_stretches: t.lost < 2 and not → t.lost <= 2 and not",
    ],
  },
  {
    why: "Costs time only: finish_run and the claim after it come to the same.",
    mutants: [
      "finish_step: update layover.run_state as t set status = 'running', turn = t.turn + 1, token = (f->'claim'->>'t... → null;",
    ],
  },
  {
    why: "The holder of the lease finishes it, so the run is running.",
    mutants: ["finish_step: status = 'running', → nothing"],
  },
  {
    why: "end_waits has deleted the row of a run that goes on, or that has ended in time.",
    mutants: ["leave_children: b.child_bond = 'cancel' → true", "leave_children: not h.item ? 'value' → true"],
  },
  {
    why: "Null counts as no here.",
    mutants: [
      "operate_runs: coalesce((p->>'dryRun')::boolean, false) → coalesce((p->>'dryRun')::boolean)",
      "note_process: coalesce((p->>'isLeaving')::boolean, false) → coalesce((p->>'isLeaving')::boolean)",
      "is_group_too_large: coalesce(most < greatest(jsonb_array_length(p->'turns'), coalesce((c->>'groupSize')::integer, cas... → coalesce(most < greatest(jsonb_array_length(p->'turns'), coalesce((c->>'groupSize')::integer, cas...",
      "kept_of_failed: coalesce(results ? h.position::text, false) → coalesce(results ? h.position::text)",
      "list_carriers: list_carriers.refused_by is null → false",
      "start_children: coalesce(e.why = 'retried', false) → coalesce(e.why = 'retried')",
      "start_children: coalesce((d->>'isBound')::boolean, false) → coalesce((d->>'isBound')::boolean)",
    ],
  },
  {
    why: "Of two definitions, one with a code of its input and one without, the keys differ.",
    mutants: ["is_same_schedule: one ? 'sent' → true", "is_same_schedule: other ? 'sent' → true"],
  },
  {
    why: "The history of epoch 0 is one segment, which belongs to that.",
    mutants: ["is_epoch_alive: epoch = 0 → false"],
  },
  {
    why: "Costs time only: the first of them counts.",
    mutants: ["list_elsewhere: limit 1 → nothing", "list_elsewhere: limit 1 → nothing (2)"],
  },
  {
    why: "Without a run to begin after, it begins after an instant that no run is due at.",
    mutants: ["list_due: coalesce(v_after_run, '00000000-0000-0000-0000-000000000000') → coalesce(v_after_run)"],
  },
  {
    why: "A return names no time, and no lease ends at none.",
    mutants: ["move_leases: not gives_back → true (2)"],
  },
  {
    why: "No branch has the path null: it finds none, and there is none that it must lock.",
    mutants: ["lock_leased: path is not null → true"],
  },
  {
    why: "Costs time only: says of the run what it has said, and spares no loss of a lease that stands.",
    mutants: ["move_leases: i.path is not null → true (2)", "move_leases: not found → true (2)"],
  },
  {
    why: "Each note leaves ten builds of a name at most, in whatever namespace.",
    mutants: ["note_deployment: d.namespace = p->>'namespace' → true"],
  },
  {
    why: "Costs time only: what one run refuses is caught at once.",
    mutants: ["operate_each: v_try = 1 → false"],
  },
  {
    why: "Costs time only: a history that fits is counted first, and read whole.",
    mutants: [
      "page_budget: 2 * (bytes + 200 * records) > budget → true",
      "page_budget: * records) > budget then budget → * records) >= budget then budget",
    ],
  },
  {
    why: "A page that is not full has no run at its limit.",
    mutants: ["operate_runs: cardinality(v_runs) = v_limit → true"],
  },
  {
    why: "Costs time only: nothing is deleted by another verb.",
    mutants: ["operate_runs: v_verb = 'delete' → true"],
  },
  {
    why: "Costs time only: a walk that has room for no run finds none.",
    mutants: [
      "prune_runs: v_count >= v_limit → false",
      "prune_runs: exit when v_count >= v_limit; v_walk → exit when v_count > v_limit; v_walk",
    ],
  },
  {
    why: "Costs time only: writes where it is already, or looks again at what it has passed.",
    mutants: [
      "prune_walk: v_last > v_from → true (2)",
      "prune_walk: ; if v_last > v_from then insert → ; if v_last >= v_from then insert",
    ],
  },
  {
    why: "Costs time only: where no workflow has a rule, none is found.",
    mutants: ["prune_walk: rules <> '{}' → true"],
  },
  {
    why: "The record of an ending is no undo.",
    mutants: ["put_done_undos_first: h.position > e.position → h.position >= e.position"],
  },
  {
    why: "Costs time only: in epoch 0 no answer of another epoch is alive.",
    mutants: ["read_answers: $2 > 0 → true", "read_answers: $2 or $2 > 0 and layover → $2 or $2 >= 0 and layover"],
  },
];

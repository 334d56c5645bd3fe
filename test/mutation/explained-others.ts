/**
 * Explanations of mutants of all that neither claims nor finishes: the scheduler, waits and races, starts, signals, leases,
 * what is read.
 */
import type { Explanation } from "./explained.ts";

export const ofOthers: readonly Explanation[] = [
  {
    why: "Costs time only: a row whose instants are to come is written with the same ones.",
    mutants: ["resume_run: (b.ready_at <= v_now or b.leased_until < v_now) → true"],
  },
  {
    why: "The update ahead has given the run an instant at which it is ready.",
    mutants: ["set_back_run: coalesce(t.ready_at <= v_now, false) → coalesce(t.ready_at <= v_now)"],
  },
  {
    why: "A token is drawn for one claim, so it stands in one row; the place is how that is found.",
    mutants: [
      "finish_once: b.run_id = v_run → true",
      "finish_once: b.path = f->>'path' → true",
      "finish_once: b.occurrence = (f->>'occurrence')::integer → true",
      "spare_loss: t.run_id = run → true",
      "spare_loss: b.run_id = run → true",
      "spare_loss: b.path = spare_loss.path → true",
      "spare_loss: b.occurrence = spare_loss.occurrence → true",
    ],
  },
  {
    why: "Costs time only: the wrong function for a set answers nothing or raises, and each item is done alone.",
    mutants: [
      "claim_or_finish_set: is_finish → true",
      "claim_or_finish_set: are_runs → true",
      "claim_or_finish_set: are_runs → true (2)",
      "claim_or_finish_set: are_runs → false",
    ],
  },
  {
    why: "A claim says of nothing that it is released, starts no run, and ends none.",
    mutants: [
      "claim_or_finish: is_finish → true",
      "claim_or_finish: is_finish → true (2)",
      "claim_or_finish: is_finish → true (3)",
    ],
  },
  {
    why: "Costs time only: a claim that has waited for a lock for 10 s in vain waits once more, and its caller has given up before.",
    mutants: ["claim_or_finish: sqlstate = '55P03' and not is_finish → false"],
  },
  {
    why: "Costs time only: beside an end, runs without a family are locked sooner than need be, in the one order.",
    mutants: [
      "claim_or_finish: t.has_parent → true",
      "claim_or_finish: t.children > 0 → true",
      "claim_or_finish: t.children > 0 and ( → t.children >= 0 and (",
    ],
  },
  {
    why: "Costs time only: what the fast paths leave alone is done by the slow ones, which ask for the same under the lock.",
    mutants: [
      "in_stretches: t.ready_at <= v_now and t → t.ready_at < v_now and t",
      "in_stretches: set := case when v_last > v_first then v_sets[v_first] end; → null;",
      "in_stretches: v_last > v_first → false",
      "in_stretches: v_keys[v_last + 1] <> → v_keys[v_last ] <>",
    ],
  },
  {
    why: "Costs time only: nobody has refused a run of which no refusal is kept, and the function that says so is planned at each call.",
    mutants: ["claim_branch: s.refused_by is not null → true"],
  },
  {
    why: "Costs time only: the set is asked, and leaves out or refuses under the lock what is not plain. A set of one is done as one alone is.",
    mutants: [
      "in_stretches: not t.has_pending → true",
      "in_stretches: layover.may_run(t, v_now) → true",
      "in_stretches: v_last > v_first → true",
      "in_stretches: case when v_last > v_first then v_sets → case when v_last >= v_first then v_sets",
    ],
  },
  {
    why: "Costs time only: it looks where there is nothing to find. What it finds is asked for exactly afterwards.",
    mutants: [
      "park_run: g.run_id = run → true",
      "park_run: g.position is null → true",
      "park_run: k.run_id = run → true",
      "park_run: k.position is null → true",
      "park_run: (v_mail or v_ended) → true",
      "release_losers: cardinality(v_prefixes) = 0 → false",
      "move_due: s.has_pending → true",
      "move_due: s.has_pending → true (2)",
      "move_due: s.has_pending → true (3)",
      "list_due: t.has_pending → true",
      "diagnose: t.has_pending → true",
    ],
  },
  {
    why: "Costs time only: it reads, or keeps, what is not there.",
    mutants: [
      "defer_run: v_has_carried_out → true",
      "defer_run: f ? 'patches' → true",
      "describe: t.has_pending → true",
      "describe_replay: coalesce(h.records, '[]') → coalesce(h.records) (2)",
      "describe_replay: t.last_position > v.after → true",
      "describe_replay: t.last_position > v.after → t.last_position >= v.after",
      "describe_claimed: s.has_mail → true (3)",
      "describe_claimed: s.has_pending → true (2)",
      "describe_claimed: s.handed_position >= 0 → true",
    ],
  },
  {
    why: "Nothing differs from null: a run that has kept no signature has no other one.",
    mutants: ["diagnose: r.signature is not null → true"],
  },
  {
    why: "The case before has taken what is equal.",
    mutants: ["count_fitting: )::integer < t.last_position → )::integer <= t.last_position"],
  },
  {
    why: "A sum leaves out what is null: a run that has not ended has told no value.",
    mutants: ["count_fitting: b.child_status is not null → true"],
  },
  {
    why: "Two who note the same database write the same.",
    mutants: ["claim_environment: e.identity is null → true"],
  },
  {
    why: "Costs time only: says to an index or to the planner what the other conditions, or what is taken of the rows, say already.",
    mutants: [
      "list_due: limit v_limit → nothing",
      "list_due: limit v_limit → nothing (2)",
      "open_runs: limit 1 → nothing",
      "start_run: limit 1 → nothing",
      "has_status: s.ended_at is null → true",
      "pick_due: jsonb_array_length(armed) = 1 → false",
    ],
  },
  {
    why: "Costs time only: no key is asked for, and none was revoked that has no id.",
    mutants: [
      "send_signal: p ? 'keyId' → true",
      "pause_run: p ? 'keyId' → true",
      "pause_workflow: p ? 'keyId' → true",
      "operate_runs: p ? 'keyId' → true",
      "resume_run: p ? 'keyId' → true",
      "terminate_run: p ? 'keyId' → true",
      "delete_run: p ? 'keyId' → true",
      "cancel_run: p ? 'keyId' → true",
      "start_run: p ? 'keyId' → true",
      "list_runs: p ? 'keyId' → true",
      "get_run: p ? 'keyId' → true",
      "get_history: p ? 'keyId' → true",
      "answer_callback: p ? 'keyId' → true",
      "read_callback: p ? 'keyId' → true",
      "hold_values: p ? 'keyId' → true",
      "export_run: p ? 'keyId' → true",
      "read_mail: p ? 'keyId' → true",
      "upgrade_run: p ? 'keyId' → true",
      "resume_workflow: p ? 'keyId' → true",
    ],
  },
  {
    why: "Costs time only: nothing is beyond a budget that is null.",
    mutants: ["read_records: budget is not null → true"],
  },
  {
    why: "Nothing in, nothing out: an array of none and no array are the same to what follows.",
    mutants: [
      "release_losers: coalesce(races, '[]') → coalesce(races)",
      "start_children: coalesce(d->'tags', '{}') → coalesce(d->'tags')",
      "start_children: coalesce((select array_agg(m.id order by i.ordinal) from made m join item i on i.id = m.id), '{}') → coalesce((select array_agg(m.id order by i.ordinal) from made m join item i on i.id = m.id))",
      "end_waits: coalesce(records, '[]') → coalesce(records)",
      "take_mail: coalesce(records, '[]') → coalesce(records)",
      "take_mail: coalesce(records, '[]') → coalesce(records) (2)",
      "start_run: coalesce(p->'tags', '{}') → coalesce(p->'tags')",
      "open_runs: coalesce(p->'tags', '{}') → coalesce(p->'tags')",
      "record_demands: map is not null → true",
      "release_losers: b.map is not null → true",
    ],
  },
  {
    why: "Every caller says whether it is new, and what it has dispatched.",
    mutants: [
      "move_due: coalesce((p->>'isNew')::boolean, false) → coalesce((p->>'isNew')::boolean)",
      "move_due: coalesce((m->>'isDispatched')::boolean, false) → coalesce((m->>'isDispatched')::boolean)",
    ],
  },
  {
    why: "Locks more of its own run, or more runs, than it needs, in the one order all the same.",
    mutants: [
      "void_leases: (t.leased_until > v_now or (t.has_pending and exists ( select from layover.pending b where b.run_... → true",
      "void_leases: t.leased_until > v_now or ( → t.leased_until >= v_now or (",
      "void_leases: t.has_pending → true",
      "void_leases: exists ( select from layover.pending b where b.run_id = t.run_id and b.leased_until > v_now) → true",
      "void_leases: b.run_id = t.run_id → true",
      "void_leases: b.leased_until > v_now → true",
      "void_leases: b.leased_until > v_now)) → b.leased_until >= v_now))",
    ],
  },
  {
    why: "What ends now already is made to end now.",
    mutants: [
      "void_leases: t.leased_until > v_now; update → t.leased_until >= v_now; update",
      "void_leases: b.leased_until > v_now; end → b.leased_until >= v_now; end",
      "resume_run: b.leased_until < v_now); → b.leased_until <= v_now);",
    ],
  },
  {
    why: "A branch has no instant until which it waits; and one that is recorded has neither a lease nor an instant at which it is ready.",
    mutants: ["park_run: b.kind <> 'branch' → true", "run_status: b.position is null → true"],
  },
  {
    why: "The instant of a step's next attempt is that of its run, and of what is no branch only such a step has one.",
    mutants: ["run_status: b.kind = 'branch' → true"],
  },
  {
    why: "Costs time only: of a run that was never set back there is nothing to describe.",
    mutants: ["diagnose: d.run_id in (select w.run_id from layover.setback w) → true"],
  },
  {
    why: "Only branches are claimed and dispatched by themselves: all others have counted nothing.",
    mutants: ["diagnose: b.kind = 'branch' → true"],
  },
  {
    why: "Early, never late: the scheduler looks when it need not.",
    mutants: ["park_run: layover.is_open_branch(b) → true", "send_signal: v_ready → true (2)"],
  },
  {
    why: "Whoever parks as anything else is blocked, which the next condition says.",
    mutants: ["park_run: next in ('ready', 'parked') → true"],
  },
  {
    why: "A place belongs to one kind: names are counted over all kinds.",
    mutants: [
      "has_answer: b.kind = 'callback' → true",
      "read_callback: b.kind = 'callback' → true",
      "take_mail: h.item->>'kind' = 'callback' → true",
    ],
  },
  {
    why: "The number of a signal is drawn for the whole table; and a record that takes none has none.",
    mutants: ["take_mail: h.item ? 'signal' → true", "take_mail: g.run_id = run → true"],
  },
  {
    why: "A callback that timed out was not answered, and expire_callbacks writes that position down as well.",
    mutants: ["take_mail: h.item ? 'value' → true"],
  },
  {
    why: "A turn's records stand at places of its own: none of them is that of a branch that is recorded.",
    mutants: ["end_waits: b.position is null → true"],
  },
  {
    why: "While a branch is pending the due instant stays where finish_run has put it, which is the first one that was armed.",
    mutants: ["park_run: min(coalesce(b.leased_until, b.ready_at)) → max(…)"],
  },
  {
    why: "`greatest` leaves out what is null.",
    mutants: ["start_run: coalesce((p->>'delayMs')::bigint, 0) → coalesce((p->>'delayMs')::bigint)"],
  },
];

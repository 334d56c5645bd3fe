/** What nobody finds out about schedules (see explained.ts). */
import type { Explanation } from "./explained.ts";

export const ofSchedules: readonly Explanation[] = [
  {
    why: "check_key lets a call pass that names no key.",
    mutants: [
      "create_schedule: p ? 'keyId' → true",
      "get_schedule: p ? 'keyId' → true",
      "list_schedules: p ? 'keyId' → true",
      "lock_schedule: p ? 'keyId' → true",
    ],
  },
  {
    why: "The names of another namespace, too, are looked up in the own one. There nothing of them is found, or what is looked at anyway.",
    mutants: ["declare_schedules: o.namespace = p->>'namespace' → true"],
  },
  {
    why: "What a deployment does not declare is refused by check_schedule, and is neither the same nor another.",
    mutants: [
      "give_up_schedule: v.declarations ? l.name → true",
      "list_declarers: v.declarations ? l.name → true",
      "list_troubled_schedules: (o.v).declarations ? l.name → true",
    ],
  },
  {
    why: "Only an adoption gives a schedule to another owner, and whoever adopts it has declared it.",
    mutants: ["write_schedule: coalesce(v.declarations, '{}') → coalesce(v.declarations)"],
  },
  {
    why: "Nobody else declares such a schedule. The deployments are read for nothing.",
    mutants: ["list_declarers: v.declarations is null → false"],
  },
  {
    why: "The answer has the first of them, and whether there are more. The bound keeps it from reading all the others.",
    mutants: ["list_schedules: limit v_limit + 1 → nothing"],
  },
  {
    why: "An instant that is computed without need is not answered.",
    mutants: ["list_due_schedules: o.fires_at <= at → true"],
  },
  {
    why: "The page has runs of this schedule alone. The names lead to them by the index.",
    mutants: [
      "forget_ended_runs: o.namespace = v.namespace → true (2)",
      "forget_ended_runs: o.schedule = v.name → true (2)",
    ],
  },
  {
    why: "The run at which the last look stopped may be looked at again.",
    mutants: ["forget_ended_runs: o.run_id > v_after order by → o.run_id >= v_after order by"],
  },
  {
    why: "What stands there is written again.",
    mutants: ["forget_ended_runs: v_through is distinct from v.swept_through → true"],
  },
  {
    why: "A schedule that skips does not read where a look stopped. Once it allows overlaps it begins there, and then with the first run.",
    mutants: ["forget_ended_runs: v_allows → true (2)"],
  },
  {
    why: "No run has the very first id of a millisecond: the rest of it is random.",
    mutants: [
      "list_fired: r.id >= layover.first_id → r.id > layover.first_id",
      "list_fired: r.id < layover.first_id → r.id <= layover.first_id",
    ],
  },
  {
    why: "The workflow leads to the index. Runs that a schedule has started are of its workflow, but for those before an edit, which it has fired all the same.",
    mutants: ["list_fired: r.workflow = v.workflow → true"],
  },
  {
    why: "What is null is not true.",
    mutants: ["create_schedule: coalesce((p->>'replaces')::boolean, false) → coalesce((p->>'replaces')::boolean)"],
  },
  {
    why: "At the change the clock shows exactly this time. The next look finds the same instant.",
    mutants: ["next_firing: ; elsif v_shown >= v_wall then v_firing → ; elsif v_shown > v_wall then v_firing"],
  },
  {
    why: "Costs time only: no instant comes sooner than a minute after the one before it.",
    mutants: ["jitter_of: v_most >= 60000 → true"],
  },
  {
    why: "The next look, one instant further, finds it.",
    mutants: [
      "last_instant: v_last := v_next; → null;",
      "last_instant: ; if v_next <= until then v_last → ; if v_next < until then v_last",
    ],
  },
  {
    why: "A pattern that fires on the first of a month has fired nine years earlier, too.",
    mutants: ["next_wall_time: ; while v_day <= v_until loop v_month → ; while v_day < v_until loop v_month"],
  },
];

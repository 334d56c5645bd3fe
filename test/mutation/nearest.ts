/**
 * Which tests look most closely at which functions: they come before all others, so that most of what the model leaves is
 * found out within seconds. What they miss, the whole suites look at.
 */

const nearest: readonly (readonly [RegExp, string])[] = [
  [
    /^(create_key|revoke_key|list_keys|check_key)$/,
    "postgres/revoking postgres/keys races/keys races/late-calls http/revocation races/bare-calls http/dashboard/session",
  ],
  [
    /^(calendar_of|find_clock|check_calendar|check_timezone|jitter_of|set_calendar|last_instant|next_(firing|instant|wall_time)|read_cron)/,
    "schedules/refused-patterns schedules/last-instant schedules/bounds schedules/clock-changes races/schedules engine/schedules schedules/calendar",
  ],
  [
    /^(lock|try_resume)_schedules$/,
    "races/workflow-pauses races/schedules races/schedules-alike races/firings-alike races/declarations races/lock-order engine/schedules",
  ],
  [/^keep_input$/, "races/made-inputs races/scheduled-starts"],
  [
    /schedule|^skip_firing$|^list_declarers$|^list_fired$|^forget_ended_runs$|^find_open_run$|^why_stopped$|^is_superseded$/,
    "races/superseded-builds races/schedules-refused races/declarations races/hand-overs races/catch-ups races/schedules-troubled races/schedules-alike races/firings-alike races/scheduled-starts races/schedules races/overlaps races/outsiders client/schedules engine/schedules schedules/bounds races/late-calls races/lock-order postgres/keys postgres/encryption/rotation",
  ],
  [
    /^((hold|sweep|forget|share)_values|share_value|value_bytes)$/,
    "races/children-again-ended races/stored-values races/stored-values-locked engine/stored-values",
  ],
  [/^forget_deliveries$/, "races/deletions-mail platform/personal-data postgres/forgetting"],
  [
    /^(carry_out_deeds|turns_of_deeds|keep_signal|leave_kept|send_kept_signals|take_kept|take_kept_of_claimed|describe_untaken)$|_deliver(y|ies)$/,
    "races/deeds races/kept-signals races/deliveries races/deliveries-known races/deliveries-listed races/outsiders engine/kept-signals http/webhooks races/late-calls races/lock-order postgres/keys",
  ],
  [/^(read_clock|is_too_late|count_of)$/, "races/late-calls postgres/clock races/refusals"],
  [
    /^(cancel_run|describe_cancel)$/,
    "races/children-left races/cancelled-starts races/cancels races/full-histories races/decoys races/cancels-at-work races/cancels-of-branches races/cancels-told races/cleanups races/undos-stops http/copied-database",
  ],
  [
    /^(drop_rows|release_all|keep_untaken|keep_deleted|read_attempted|without_ending|is_at_work|ends_surely|end_of|end_at_timeout|why_it_cleans_up)$/,
    "races/ends-untaken engine/cleanups-after-throws races/undos-closing-deferred races/full-histories races/undos-ending-children races/closing-children-late races/closing-claims races/what-counts races/claims-read races/undos-ending races/undos-closing races/undos-stops races/losers engine/undos races/cancels races/cleanups races/children races/finishes-kept postgres/timelines engine/at-most-once-endings",
  ],
  [
    /^(start_children|describe_refused|tell_parent|leave_children|why_left|has_left_child|lock_families|lock_steady_families|families_of|lock_ids|leaves_others|read_children)$/,
    "races/ends-taken-back races/child-ids races/cancels-of-branches races/children-left-or-ended races/children-one-more races/children-again-ended races/children-again-by-id races/closing-children-late races/children-begun races/children-refused races/children-again races/children-ended races/children-left races/claims-read races/what-counts races/children races/families races/open-children races/deadlocks races/terminations races/cancels races/finishes-kept races/late-calls engine/children",
  ],
  [/^export_run$/, "races/exports postgres/replays"],
  [/^end_run$/, "races/undos-closing-deferred races/terminations races/cancelled-starts races/twice"],
  [
    /^(pause_run|resume_run|terminate_run|find_verdict|ready_branches|is_ready|keep_operation|operate_runs|pause_workflow|resume_workflow|await_starts|operate_run|operate_each|check_filter|sum_up_answers|within_children)$/,
    "races/entries races/ends-untaken races/calls-again races/children-left.test races/children-one-more races/pauses-apart races/many-told races/many races/deletions.test races/deletions-mail races/children.test races/families client/many client/many-ended races/workflow-pauses client/workflow-pause races/pauses-amid-starts races/pauses races/terminations races/cancels races/refusals http/copied-database client/operations http/revocation engine/pauses",
  ],
  [/^note_process$/, "postgres/processes races/late-calls"],
  [
    /^engine$/,
    "engine/undos-unknown-outcomes engine/blocking engine/tick-alarms engine/alarms engine/leases engine/late-turns engine/warm-runs engine/setbacks",
  ],
  [/^diagnose$/, "postgres/diagnosis-of-deployments postgres/diagnosis cli/doctor"],
  [/^(has_status|run_status)$/, "postgres/statuses races/setbacks"],
  [/^(list_runs|find_runs|open_runs|first_id)$/, "postgres/filters postgres/statuses postgres/listing postgres/keys"],
  [/^(get_run|get_history)$/, "postgres/timelines postgres/keys client http/runs"],
  [/^describe$/, "postgres/views races/bare-calls races/stored-values client http/runs"],
  [
    /^(read_replay|export_run|describe_replay|list_parked)$/,
    "postgres/replays http/replay-check cli/replay-check postgres/keys",
  ],
  [
    /^(upgrade_run|read_mail|last_mail|is_of_version)$/,
    "races/entries races/upgrades-apart races/upgrades engine/upgrades cli/upgrade postgres/keys",
  ],
  [/^read_callback$/, "postgres/callback-pages postgres/keys http/callbacks"],
  [
    /^(start_run|is_same|is_same_schedule|refuse_late_commit|find_run|read_run)$/,
    "races/starts-written races/first-comers races/starts races/namespaces races/bare-calls client/start postgres/keys races/prunes races/deletions",
  ],
  [
    /^delete_run$/,
    "races/deletions races/ends-untaken engine/retried-parents http/copied-database client/deletions http/revocation platform/personal-data races/deletions-mail",
  ],
  [/^signal_with_start$/, "races/signals-with-start"],
  [
    /^(send_signal|has_answer|take_mail|read_signals)$/,
    "races/taken-signals races/closing-children-late races/signals-apart races/what-counts races/claims-read races/first-comers races/places races/dues races/signals races/answers races/stillness races/refusals races/children races/twice races/namespaces http/copied-database postgres/keys",
  ],
  [
    /^(answer_callback|takes_no_answer|expire_callbacks|read_answers)$/,
    "postgres/callback-pages races/closing-children-late races/claims-read races/callbacks-alive races/answers races/stillness races/callbacks races/finishes-apart races/refusals http/copied-database engine/waits postgres/keys",
  ],
  [
    /^(list_due|move_due)$/,
    "races/due-runs races/superseded-builds races/moves-refused races/elsewhere races/moves races/looks races/ticks postgres/list-due races/lock-order races/refusals races/strangers",
  ],
  [
    /^(note_deployment|adopt_environment|claim_environment|find_mismatch|check_environment|identity)$/,
    "races/deployments-noted postgres/adopting races/run-claims-told platform/copies races/bare-calls races/late-calls races/namespaces races/looks races/due-runs races/first-comers engine/first-ticks postgres/list-due engine/deployments",
  ],
  [/^finish_once$/, "races/transactions engine/transactions"],
  [
    /^(keep|read)_patches$/,
    "races/finishes-kept races/claims-read races/sets races/deferred engine/patches races/remains",
  ],
  [
    /^(continue_run|count_laps|forget_epochs|may_continue)$/,
    "races/laps races/others-told races/next-epochs races/finishes-kept races/lock-order engine/continue-as-new races/epochs races/remains",
  ],
  [/^(children_of|find_open_child)$/, "races/open-children engine/repaired-children races/deletions-children"],
  [
    /epoch|_cut$|^(copy_history|cut_segments|segments_of|restart_run|retry_run|fork_run|take_back_retry|untake_mail|untell_parent|kept_of_failed|keep_timeout|children_of_retry|find_failed_children|find_lost_results|given_of|results_at|is_closed_by|url_epoch|put_done_undos_first|describe_before)$/,
    "races/calls-again races/ends-taken-back races/taken-back races/cancels-and-retries races/kept-signals races/namespaces races/mail-given-back races/callbacks-alive races/stored-values races/decoys races/next-epochs races/children-started races/forks races/restarts races/overlaps races/retries races/retried-parents races/laps races/epochs engine/restarts engine/retries engine/taken-back-retries engine/retried-parents races/refusals races/deletions races/lock-order http/revocation client/repairs engine/repaired-children engine/undone-runs engine/changed-waits engine/continue-as-new races/deferred races/remains postgres/timelines http/copied-database",
  ],
  [
    /^(prune_runs|prune_walk|is_wanted_again|find_retention|delete_rows)$/,
    "races/prune-walks races/ends-untaken races/deletions races/deletions-children races/stored-values postgres/pruning engine/retried-parents races/keeping postgres/retention races/remains races/prunes races/late-calls",
  ],
  [
    /^(renew_leases|lock_leased|void_leases|spare_loss|lease_end)$/,
    "races/locked-turns races/renewals races/groups races/beginnings races/voids races/late-calls races/namespaces races/refusals races/lock-order",
  ],
  [
    /^(claim|finish)_(runs|branches)$/,
    "races/lock-order-runs races/sets-branches races/branch-claims-told races/run-claims-told races/full-histories races/undos-closing races/beginnings races/stillness races/claim-sets races/branch-claims races/due-late races/branch-finishes races/map-slots races/sets-and-singles races/namespaces races/losers races/looks races/sets races/cleanups races/cancels-of-branches races/cancels-at-work",
  ],
  [
    /^((claim|finish)_turns|claim_or_finish(_set)?)$/,
    "races/lock-order races/families races/claims-raising races/mixed-sets races/deadlocks races/branch-claims races/kept-signals races/sets races/refusals races/finishes-apart races/locked-turns",
  ],
  [
    /^(claim_branch|group_size|is_group_too_large)/,
    "races/branch-claims-told races/groups races/cleanups races/cancels-of-branches races/branch-claims races/voids races/due-late races/beginnings races/losers races/branches races/lock-order races/stops races/namespaces races/sets-and-singles",
  ],
  [
    /^(finish_branch|defer_run)/,
    "races/branches-claims races/undos-closing-deferred races/full-histories races/branch-troubles races/groups races/undos-closing races/deferred races/cancels-of-branches races/cleanups races/map-slots races/stillness races/losers races/namespaces races/branch-finishes races/branches races/sets-and-singles races/finishes-apart races/finishes",
  ],
  [
    /^(claim|reclaim|describe)_/,
    "races/undos-closing-deferred engine/closing-kept races/reclaims races/closing-claims races/worn-turns races/run-claims-told races/cleanups races/cancels races/groups races/dues races/beginnings races/claim-sets races/namespaces races/claims races/stops races/lock-order races/strangers races/stillness",
  ],
  [
    /^(is_one_step|check_kind)$/,
    "races/one-step races/sets races/sets-and-singles races/finishes races/finishes-apart",
  ],
  [
    /^(finish|park)_/,
    "races/locked-turns engine/closing-kept races/beginnings races/made-inputs races/full-histories races/others-told races/undos-ending-children races/finishes-kept races/parks races/one-step races/cancels-at-work races/dues races/places races/stillness races/finishes races/sets races/map-slots races/finishes-apart races/setbacks races/children races/families races/undos-closing races/undos-ending races/decoys races/laps races/lock-order engine/ending",
  ],
  [
    /queued|freed|losers|demands|pending|end_waits/,
    "races/ends-untaken races/demands races/rows-told races/cleanups races/families races/decisions races/places races/strangers races/map-slots races/losers races/branches races/lock-order races/finishes-apart engine/steps-between-attempts",
  ],
  [
    /^in_stretches$/,
    "races/lock-order-claims races/full-histories races/children races/losers races/deadlocks races/twice races/mixed-sets races/sets races/finishes-apart races/sets-and-singles races/answers",
  ],
  [
    /^(refuse_run|has_refused|has_taker|live_deployments)$/,
    "races/what-counts races/branch-troubles races/finishes-kept races/moves postgres/diagnosis-of-deployments postgres/list-due engine/deployments",
  ],
  [/^list_(carriers|elsewhere)$/, "races/elsewhere engine/carriers"],
  [/^lock_run$/, "races/strangers races/lock-order races/finishes races/deadlocks races/crowd"],
  [
    /^(pick_due|may_run|goes_on)/,
    "races/undos-closing races/deeds races/dues races/claims races/claim-sets races/one-step races/full-histories races/what-counts races/setbacks races/cancels-at-work races/cancels-of-branches",
  ],
  [
    /^(may_be_due|stops_at|is_over|is_open_branch)$/,
    "races/closing-claims races/what-counts races/losers races/branch-claims races/dues races/stops races/stillness races/run-timeouts races/signals races/cleanups races/cancels-at-work",
  ],
  [
    /^(return|move)_leases$/,
    "races/locked-turns races/renewals races/groups races/cleanups races/beginnings races/refusals races/returns races/late-calls engine/giving-back",
  ],
  [
    /setback|^set_back/,
    "races/setbacks-written races/others-told races/setbacks races/setbacks-stopped races/branch-troubles postgres/views engine/setbacks races/finishes-apart postgres/diagnosis",
  ],
  [/^accept_announcement$/, "races/announcements engine/announcements races/closing races/callbacks"],
  [
    /^(has_come|record_attempt|keep_dropped|ends_in_time)$/,
    "races/demands races/what-counts races/deferred races/attempts-begun races/branches races/setbacks races/finishes-kept races/announcements races/undos-stops races/closing races/run-timeouts races/cancels-at-work races/cleanups engine/run-timeouts engine/announcements",
  ],
  [/^read_ends$/, "races/read-ends engine/invoked-ends"],
  [/^name_others$/, "races/others-told races/children-ended"],
  [
    /^(count_fitting|page_budget|read_page|read_records)$/,
    "races/claims-read races/fitting races/budget platform/large-histories races/late-calls",
  ],
  [/^(check_time|check_isolation)$/, "races/late-calls races/refusals"],
  [/^is_understood$/, "races/reclaims races/run-claims-told races/branch-claims-told"],
  [/^is_due_late$/, "races/due-late engine/lost-answers"],
  [/wrongly_armed|^is_one_struck$|^check_armed$/, "postgres/processes platform/rearming races/late-calls"],
  [/^(ready_after|show_ready_at)$/, "engine/clock-steps races/keeping postgres/statuses"],
  [
    /^(is_carried_here|in_lock_order|answer_again|plain_answer|claiming_answer)$/,
    "races/versions races/lock-order races/sets",
  ],
];

/** Filters of vitest. */
export function nearestTo(name: string): readonly string[] {
  const tests = nearest.find(([names]) => names.test(name))?.[1].split(" ") ?? [];
  return tests.map((test) => `test/${test}`);
}

/** Functions of which the model plays nothing, or which it replaces (play.sql). */
export function isModelled(name: string): boolean {
  return !unmodelled.test(name);
}

const unmodelled =
  /^(create_key|revoke_key|list_keys|check_key|note_process|diagnose|describe|get_run|list_runs|find_runs|open_runs|first_id|get_history|has_status|run_status|read_callback|refuse_late_commit|now|await_starts|calendar_of|find_clock_change|check_calendar|check_timezone|jitter_of|set_calendar|last_instant|next_\w+|read_cron\w*|skip_firing|list_fired|list_declarers|why_stopped|is_superseded|get_delivery|list_deliveries|\w*schedule\w*)$/;

-- What is true of each row, whatever happens. Every database of the tests refuses a row that breaks a rule; users' databases
-- have no such constraints, as they cost each step a sixth of the database's time.

alter table layover.run_state
  add constraint a_known_status check (status in ('parked', 'running', 'completed', 'failed', 'cancelled')),
  add constraint a_running_run_is_leased check ((status = 'running') = (token is not null)),
  add constraint a_lease_ends check ((token is null) = (leased_until is null)),
  add constraint an_ended_run_has_an_end check ((status in ('completed', 'failed', 'cancelled')) = (ended_at is not null)),
  add constraint nothing_is_due_of_a_run_at_rest
    check (due_at is null or (ended_at is null and paused_at is null)),
  add constraint an_ended_run_is_not_ready check (ended_at is null or ready_at is null),
  add constraint only_a_run_that_closes_keeps_how_it_ends check (ends_as is null or (is_closing or cancel_requested_at is not null) and ended_at is null),
  add constraint a_result_is_of_a_completed_run check (result is null or status = 'completed'),
  add constraint an_error_is_of_a_failed_run check ((error is not null) = (status in ('failed', 'cancelled')));

alter table layover.pending
  add constraint a_branchs_lease_ends check ((token is null) = (leased_until is null)),
  add constraint only_a_branch_is_leased check (kind = 'branch' or token is null),
  add constraint what_queues_is_a_free_branch_of_a_map
    check (is_queued = false or (kind = 'branch' and map is not null and token is null));

alter table layover.record
  add constraint a_known_kind
    check (kind in ('step', 'sleep', 'signal', 'callback', 'cancellation', 'close', 'closing', 'ending', 'start', 'child'));

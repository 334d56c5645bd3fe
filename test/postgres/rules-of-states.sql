-- What is true of each row, whatever happens. Every database of the tests refuses a row that breaks a rule; users' databases
-- do not look, as constraints like these cost each step a sixth of the database's time.
--
-- The rules are assertions, since nothing in PL/pgSQL catches one that fails. A function that does a set anew item by item when it has
-- raised would hide a constraint.

create function layover_test.hold_rules_of_run_state() returns trigger language plpgsql as $$
begin
  assert new.status in ('parked', 'running', 'completed', 'failed', 'cancelled'), 'a run has a known status';
  assert (new.status = 'running') = (new.token is not null), 'a run is running while it is leased';
  assert (new.token is null) = (new.leased_until is null), 'the lease of a run ends';
  assert (new.status in ('completed', 'failed', 'cancelled')) = (new.ended_at is not null), 'a run that is over has an end';
  assert new.due_at is null or (new.ended_at is null and new.paused_at is null), 'nothing is due of a run at rest';
  assert new.ended_at is null or new.ready_at is null, 'a run that is over is not ready';
  assert new.ends_as is null or (new.is_closing or new.cancel_requested_at is not null) and new.ended_at is null,
    'only a run that closes keeps how it ends';
  assert new.result is null or new.status = 'completed', 'a result is of a completed run';
  assert (new.error is not null) = (new.status in ('failed', 'cancelled')), 'an error is of a run that has failed or was cancelled';
  return new;
end $$;
create trigger rules before insert or update on layover.run_state for each row execute function layover_test.hold_rules_of_run_state();

create function layover_test.hold_rules_of_pending() returns trigger language plpgsql as $$
begin
  assert (new.token is null) = (new.leased_until is null), 'the lease of a branch ends';
  assert new.kind = 'branch' or new.token is null, 'only a branch is leased';
  assert not new.is_queued or new.kind = 'branch' and new.map is not null and new.token is null,
    'what queues is a free branch of a map';
  return new;
end $$;
create trigger rules before insert or update on layover.pending for each row execute function layover_test.hold_rules_of_pending();

create function layover_test.hold_rules_of_record() returns trigger language plpgsql as $$
begin
  -- The table itself refuses null.
  assert new.kind is null
    or new.kind in ('step', 'sleep', 'signal', 'callback', 'cancellation', 'close', 'closing', 'ending', 'start', 'child'),
    'a record has a known kind';
  return new;
end $$;
create trigger rules before insert or update on layover.record for each row execute function layover_test.hold_rules_of_record();

-- Whether nothing keeps a run from new turns: it is not blocked, refused or paused, and not about to be cancelled.
create or replace function layover.may_run(t layover.run_state, at timestamptz) returns boolean
language sql stable as $$
  select t.blocked is null and t.refused_by is null and t.paused_at is null and (t.cancelled_position is not null
    or (t.cancel_requested_at is null and (t.timeout_at is null or t.timeout_at > at)))
$$;

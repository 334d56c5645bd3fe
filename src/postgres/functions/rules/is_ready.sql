-- Whether a run may be claimed at an instant: it is not paused or blocked, and nobody holds a lease of its turn that stands. One that is over is
-- never ready.
create or replace function layover.is_ready(t layover.run_state, at timestamptz) returns boolean
language sql stable as $$
  select t.paused_at is null and t.blocked is null and coalesce(t.leased_until, t.ready_at) <= at
$$;

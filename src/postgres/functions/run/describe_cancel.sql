-- Answers why a run is to be cancelled, if that was asked for and its handler was not told yet.
create or replace function layover.describe_cancel(t layover.run_state) returns json
language sql stable as $$
  select case when t.cancel_requested_at is not null and t.cancelled_position is null
    then json_build_object('reason', t.cancel_reason) end
$$;

-- Answers why what is at work of a run is to end: its cancel was asked for and its handler was not told yet, or its handler has ended and
-- the run waits for the last lease.
create or replace function layover.describe_cancel(t layover.run_state) returns json
language sql stable as $$
  select case
    when t.cancel_requested_at is not null and t.cancelled_position is null then json_build_object('reason', t.cancel_reason)
    when t.is_closing then json_build_object('reason', 'its handler has ended') end
$$;

-- Answers from when a run is to be cancelled: by its timeout, or since somebody asked for it. Null: neither, or it is in the history.
create or replace function layover.stops_at(t layover.run_state) returns timestamptz
language sql stable as $$
  select case when t.cancelled_position is null then least(t.timeout_at, t.cancel_requested_at) end
$$;

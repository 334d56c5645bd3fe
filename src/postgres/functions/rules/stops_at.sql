-- Answers from when the next claim of a run writes into the history that the run closes: at its timeout; at once if its cancel was asked
-- for, its history is full, or its handler has thrown amid a cleanup; and once more when its cleanups have taken too long. Null: never, or it is in the history.
create or replace function layover.stops_at(t layover.run_state) returns timestamptz
language sql stable as $$
  select case
    when t.ending_position is not null then null
    when t.cancel_requested_at is null then case when t.cancelled_position is null then t.timeout_at end
    when t.cancelled_position is null then 'epoch'
    else t.timeout_at -- of the cleanups: the claim that wrote the close has set it
  end
$$;

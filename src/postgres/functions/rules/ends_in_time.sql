-- Whether a run may end by what its turn came to. A run whose cancel was asked for may not, until its handler was told. The last record
-- must not be later than the timeout; the finish itself may come late. A run whose history tells that it closes is cleaning up, and may
-- end. So may one that is undone.
create or replace function layover.ends_in_time(t layover.run_state, records jsonb) returns boolean
language sql stable as $$
  select t.cancelled_position is not null or t.ending_position is not null or t.cancel_requested_at is null and (t.timeout_at is null
    or coalesce(layover.from_ms((records->-1->>'at')::bigint), t.last_record_at) <= t.timeout_at)
$$;

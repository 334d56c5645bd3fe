-- Whether a run may end by what its turn came to: its last record is no later than its timeout, however late the finish
-- comes. A run whose timeout stands in its history already cleans up, and ends as it likes.
create or replace function layover.ends_in_time(t layover.run_state, records jsonb) returns boolean
language sql stable as $$
  select t.timeout_at is null or t.cancelled_position is not null
    or coalesce(layover.from_ms((records->-1->>'at')::bigint), t.last_record_at) <= t.timeout_at
$$;

-- Whether a row of `pending` is a branch that a turn holds, or may claim now or later. A branch that is recorded, queued for a
-- slot, or released is not.
create or replace function layover.is_open_branch(b layover.pending) returns boolean
language sql stable as $$
  select b.kind = 'branch' and b.position is null and not b.is_queued and not b.is_released
$$;

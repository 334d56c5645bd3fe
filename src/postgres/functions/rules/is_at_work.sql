-- Whether somebody holds a lease of one of the run's branches, or a run is not over that it has invoked, and that is to end with it: it was
-- not asked to yet, or was asked within a day. PL/pgSQL, since a subquery in the statement that finishes a run would have
-- that planned anew each time: three times as slow.
create or replace function layover.is_at_work(run uuid, at timestamptz) returns boolean
language plpgsql volatile as $$
begin
  return exists (select from layover.pending b where b.run_id = run and (b.leased_until > at
    or b.child_status is null and (b.child_bond = 'cancel' or b.child_bond = 'cancelled' and b.until > at)));
end $$;

-- running -> parked, of the same turn, when the holder gives back its lease unfinished, since its process ends. The next claim need not
-- wait for the end of the lease.
--
-- This is no finish, so all counters stay: a turn that kills its processes must be found out through any number of deploys. due_at stays
-- too; the next process to begin looks at all that is ready.
create or replace function layover.return_leases(p jsonb) returns json
language plpgsql volatile as $$
begin
  return layover.move_leases(p, gives_back => true);
end $$;

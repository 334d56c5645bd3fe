-- running -> parked, of the same turn, when the holder gives back its lease unfinished, since its process ends. The next claim need not
-- wait for the end of the lease.
--
-- This is no finish, so all counters stay: a turn that kills its processes must be found out through any number of deploys. The run is due
-- now, however long the lease was: for the process that is asked to look when this one ends (neighbours.ts), or for the next one to begin.
-- This call arms nothing. If neither process looks, the run is found by the alarm that was armed for its due instant of before.
--
-- It waits for a lock for 4 s, since its caller gives up after 5 s (see finish_turns).
create or replace function layover.return_leases(p jsonb) returns json
language plpgsql volatile set lock_timeout = '4s' as $$
begin
  return layover.move_leases(p, gives_back => true);
end $$;

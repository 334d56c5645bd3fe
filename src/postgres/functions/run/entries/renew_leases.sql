-- running -> running, while a body takes its time. Only the holder of the lease may; due_at stays. A holder that comes too late is alive,
-- so the lost lease does not count (spare_loss).
--
-- The same call says that a turn which goes alone is about to begin. `beginnings` is then how many have begun in a row, with this one.
-- It also says that an attempt of a step that runs at most once is about to begin: `begins` names it, and the claims after that tell it
-- (`begun`). No finish takes it back: the number in it tells it from the attempts after it.
--
-- `skipsLocked`: it waits for no run or branch that somebody has locked, and answers `locked` for it. Otherwise it waits for a lock for 10 s,
-- since its caller gives up after 15 s (see finish_turns).
create or replace function layover.renew_leases(p jsonb) returns json
language plpgsql volatile set lock_timeout = '10s' as $$
begin
  return layover.move_leases(p, gives_back => false);
end $$;

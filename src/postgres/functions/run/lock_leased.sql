-- Locks the rows that a renewal writes: the run, or the branch, and the run too if the branch `says` something of it. It waits for nobody.
-- Answers false if somebody else has locked one of them. A row that is gone needs no lock.
create or replace function layover.lock_leased(run uuid, path text, occurrence integer, says boolean) returns boolean
language plpgsql volatile as $$
begin
  if path is null or says then
    perform from layover.run_state t where t.run_id = run for update skip locked;
    if not found and exists (select from layover.run_state t where t.run_id = run) then
      return false;
    end if;
  end if;
  if path is not null then
    perform from layover.pending b
      where b.run_id = run and b.path = lock_leased.path and b.occurrence = lock_leased.occurrence for update skip locked;
    return found or not exists (select from layover.pending b
      where b.run_id = run and b.path = lock_leased.path and b.occurrence = lock_leased.occurrence);
  end if;
  return true;
end $$;

-- Locks a run that is to end, together with the run that waits for its end, in the one lock order. Answers whether somebody waits for it.
-- Who its parent is never changes, so it is read before the lock.
create or replace function layover.lock_with_parent(run uuid) returns boolean
language plpgsql volatile as $$
declare
  v_parent uuid;
begin
  select r.parent_run_id into v_parent from layover.run r join layover.run_state t on t.run_id = r.id and t.has_parent where r.id = run;
  perform from layover.run_state t where t.run_id in (run, v_parent) order by t.run_id for update;
  return v_parent is not null;
end $$;

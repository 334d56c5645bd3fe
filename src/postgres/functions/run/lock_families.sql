-- Locks these runs with their families (families_of), in the one lock order. Answers whether it has locked all of them: until it had the locks,
-- a run may have started one more, or one that had ended may have begun again (untell_parent).
create or replace function layover.lock_families(runs uuid[], with_children boolean) returns boolean
language plpgsql volatile as $$
declare
  v_locked uuid[] := '{}';
  v_one    record;
begin
  for v_one in select f.run, f.is_whole from layover.families_of(runs, with_children) as f loop
    if v_one.is_whole then
      perform layover.lock_run(v_one.run);
    else
      perform from layover.run_state t where t.run_id = v_one.run for update;
    end if;
    v_locked := v_locked || v_one.run;
  end loop;
  return not exists (select from layover.run_state t where t.run_id = any (runs) and t.children > 0)
    or not exists (select f.run from layover.families_of(runs, with_children) as f except select l.run from unnest(v_locked) as l (run));
end $$;

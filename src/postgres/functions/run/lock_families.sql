-- Locks these runs with their families (families_of), in the one lock order. Answers whether one of them has ever had a family.
create or replace function layover.lock_families(runs uuid[], with_children boolean) returns boolean
language plpgsql volatile as $$
declare
  v_one record;
begin
  for v_one in select f.run, f.is_whole from layover.families_of(runs, with_children) as f loop
    if v_one.is_whole then
      perform layover.lock_run(v_one.run);
    else
      perform from layover.run_state t where t.run_id = v_one.run for update;
    end if;
  end loop;
  return exists (select from layover.run_state t where t.run_id = any (runs) and (t.has_parent or t.children > 0));
end $$;

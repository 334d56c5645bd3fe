-- These runs, who waits for the end of one of them, and (`with_children`) whom one of them may ask to end. `is_whole`: the caller may change its
-- pending rows too.
create or replace function layover.families_of(runs uuid[], with_children boolean) returns table (run uuid, is_whole boolean)
language sql volatile as $$
  select o.run, bool_or(o.is_whole) from (
    select f.run, true as is_whole from unnest(runs) as f (run) where f.run is not null -- null: nobody knows it
    union all
    select r.parent_run_id, false from layover.run_state t join layover.run r on r.id = t.run_id
     where t.run_id = any (runs) and t.has_parent
    union all
    select b.child_run_id, true from layover.pending b
     where with_children and b.run_id = any (runs) and b.child_bond = 'cancel' and b.child_status is null) as o
   group by o.run order by o.run
$$;

-- Answers the first of these runs that have started 10,000 runs together at the most: at least one. A cancel of a run locks all that it has
-- started. A run that was deleted meanwhile has started none.
create or replace function layover.within_children(runs uuid[]) returns uuid[]
language sql stable as $$
  select coalesce(array_agg(o.run order by o.place) filter (where o.place = 1 or o.children <= 10000), '{}')
    from (select f.run, f.place, sum(coalesce(t.children, 0)) over (order by f.place) as children
            from unnest(runs) with ordinality as f (run, place) left join layover.run_state t on t.run_id = f.run) as o
$$;

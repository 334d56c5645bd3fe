-- Lists runs of a namespace that fit a filter (see find_runs), newest first, a page at a time. `before` is the last id of the page before.
-- `isCount`: it answers how many there are, up to `limit`, and none of them.
create or replace function layover.list_runs(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_page record;
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  v_page := layover.find_runs(p);
  if (p->>'isCount')::boolean then
    return json_build_object('count', cardinality(v_page.runs), 'next', v_page.next);
  end if;
  return json_build_object(
    'runs', ( -- runs that were pruned since they were found are left out
      select coalesce(json_agg(d.run order by d.place) filter (where d.run is not null), '[]')
        from (select layover.describe(f.run, 16384, 16384) as run, f.place
                from unnest(v_page.runs) with ordinality as f (run, place)) as d),
    'next', v_page.next);
end $$;

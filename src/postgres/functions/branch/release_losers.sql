-- Releases the losers of races that the handler has decided, each at a position: what is pending below the prefix of a race's branches. A
-- released branch or wait gets no new claim and no signal. But a live lease may still record its result, since what was charged must be known to be refunded. A loser leaves
-- the map that its race is in: nobody waits for it there, and its slot is free (see ready_freed).
create or replace function layover.release_losers(run uuid, through integer, races jsonb) returns void
language plpgsql volatile as $$
declare
  v_prefixes constant text[] := array(
    select r->>'prefix' from jsonb_array_elements(coalesce(races, '[]')) as r where (r->>'position')::integer <= coalesce(through, 2147483647));
begin
  if cardinality(v_prefixes) = 0 then
    return;
  end if;
  perform from layover.pending b
    where b.run_id = run and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(b.path, x.prefix))
    order by b.path, b.occurrence for update;
  update layover.map m set counted = m.counted - l.counted, slots = m.slots + l.slots
    from (select b.map, count(*) filter (where b.is_counted)::integer as counted,
              count(*) filter (where not b.is_queued)::integer as slots
            from layover.pending b
           where b.run_id = run and b.position is null and b.map is not null
             and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(b.path, x.prefix))
           group by b.map) as l
   where m.run_id = run and m.path = l.map;
  update layover.pending b set is_released = true, is_queued = false, is_counted = false, map = null
   where b.run_id = run and b.position is null
     and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(b.path, x.prefix));
  perform layover.keep_deleted(run);
  perform layover.drop_rows(run, v_prefixes);
  delete from layover.map m
   where m.run_id = run and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(m.path, x.prefix));
end $$;

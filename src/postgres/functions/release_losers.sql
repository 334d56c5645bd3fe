-- Races are decided, each at a position: what is pending below its branches' prefix is released. No new claim, no
-- signal; but a live lease may still record its result (what was charged must be known to be refunded).
create or replace function layover.release_losers(run uuid, through integer, races jsonb) returns void
language plpgsql volatile as $$
declare
  v_now      constant timestamptz := layover.now();
  v_prefixes constant text[] := array(
    select r->>'prefix' from jsonb_array_elements(coalesce(races, '[]')) as r where (r->>'position')::integer <= coalesce(through, 2147483647));
begin
  if cardinality(v_prefixes) = 0 then
    return;
  end if;
  perform from layover.pending b
    where b.run_id = run and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(b.path, x.prefix))
    order by b.path, b.occurrence for update;
  delete from layover.pending b
   where b.run_id = run and (b.leased_until is null or b.leased_until <= v_now) and b.position is null
     and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(b.path, x.prefix));
  update layover.pending b set is_released = true, is_queued = false, is_counted = false
   where b.run_id = run and b.position is null
     and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(b.path, x.prefix));
  delete from layover.map m
   where m.run_id = run and exists (select from unnest(v_prefixes) as x (prefix) where starts_with(m.path, x.prefix));
end $$;

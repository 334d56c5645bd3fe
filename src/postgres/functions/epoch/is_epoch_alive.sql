-- Whether a callback's URL may still be answered. If its place waits for an answer, what waits was asked for in the epoch of the URL. Otherwise it
-- is asked for later, or is in the history: then what the run asks for at the position where the URL was made (`madeAt`) belongs to that epoch. A
-- URL may tell no position, or one that a retry has moved since the run's epoch was that in which it was made (`madeIn`): a retry drops records,
-- from `failure.at` on. Of such a URL it is enough that the run's history goes back to its epoch.
create or replace function layover.is_epoch_alive(run uuid, epoch integer, p jsonb) returns boolean
language plpgsql stable as $$
declare
  v_epoch   constant integer := (p->>'epoch')::integer;
  v_made_at constant integer := (p->>'madeAt')::integer;
  v_waiting integer;
begin
  if epoch = 0 then
    return v_epoch = 0;
  end if;
  select coalesce(b.callback_epoch, is_epoch_alive.epoch) into v_waiting from layover.pending b
   where b.run_id = run and b.path = p->>'path' and b.occurrence = (p->>'occurrence')::integer and b.kind = 'callback';
  if found then
    return v_waiting = v_epoch;
  elsif v_made_at is null or exists (
      select from layover.epoch x
       where x.run_id = run and x.epoch > greatest(v_epoch, (p->>'madeIn')::integer) and x.why = 'retried'
         and (x.before->'state'->'failure'->>'at')::integer <= v_made_at)
  then
    return exists (
      select from jsonb_array_elements(layover.segments_of(run, epoch)) as g (segment) where layover.url_epoch(run, g.segment) = v_epoch);
  end if;
  return (
    select layover.url_epoch(run, g.segment) = v_epoch
      from jsonb_array_elements(layover.segments_of(run, epoch)) with ordinality as g (segment, place)
     where (g.segment->>'from')::integer <= v_made_at
     order by g.place desc limit 1);
end $$;

-- Whether a callback's URL may still be answered: what the run asks for now, at the position where the URL was made (`madeAt`), belongs to the
-- epoch of the URL. Of a URL that does not tell its position it is enough that the run's history goes back to that epoch, and that what waits
-- at that place, if anything does, was asked for in it.
create or replace function layover.is_epoch_alive(run uuid, epoch integer, p jsonb) returns boolean
language plpgsql stable as $$
begin
  if epoch = 0 then
    return (p->>'epoch')::integer = 0;
  elsif p ? 'madeAt' then
    return (
      select layover.url_epoch(run, g.segment) = (p->>'epoch')::integer
        from jsonb_array_elements(layover.segments_of(run, epoch)) with ordinality as g (segment, place)
       where (g.segment->>'from')::integer <= (p->>'madeAt')::integer
       order by g.place desc limit 1);
  end if;
  return exists (
      select from jsonb_array_elements(layover.segments_of(run, epoch)) as g (segment)
       where layover.url_epoch(run, g.segment) = (p->>'epoch')::integer)
    and not exists (
      select from layover.pending b
       where b.run_id = run and b.path = p->>'path' and b.occurrence = (p->>'occurrence')::integer and b.kind = 'callback'
         and coalesce(b.callback_epoch, is_epoch_alive.epoch) <> (p->>'epoch')::integer);
end $$;

-- The turn's own records, from its last seen position on, and the end of what they settle: a wait, a sleep, a retry.
create or replace function layover.append_records(run uuid, epoch integer, after integer, records jsonb) returns void
language plpgsql volatile as $$
begin
  insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value,
      recorded_at, began_at)
    select append_records.run, append_records.epoch, after + h.place, h.item->>'kind', h.item->>'path',
        (h.item->>'occurrence')::integer, coalesce((h.item->>'attempts')::integer, 1),
        coalesce((h.item->>'isFailure')::boolean, false), h.item->>'value',
        layover.from_ms((h.item->>'at')::bigint), layover.from_ms((h.item->>'beganAt')::bigint)
      from jsonb_array_elements(records) with ordinality as h (item, place);
  delete from layover.pending b
    using jsonb_array_elements(records) as h (item)
    where b.run_id = append_records.run and b.path = h.item->>'path'
      and b.occurrence = (h.item->>'occurrence')::integer and b.position is null;
  update layover.signal g set position = after + h.place
    from jsonb_array_elements(records) with ordinality as h (item, place)
   where h.item ? 'signal' and g.run_id = append_records.run and g.number = (h.item->>'signal')::bigint;
  update layover.callback k set position = after + h.place
    from jsonb_array_elements(records) with ordinality as h (item, place)
   where h.item->>'kind' = 'callback' and h.item->>'value' is not null
     and k.run_id = append_records.run and k.epoch = append_records.epoch and k.path = h.item->>'path'
     and k.occurrence = (h.item->>'occurrence')::integer;
  insert into layover.callback (run_id, epoch, path, occurrence, outcome, answered_at, position)
    select append_records.run, append_records.epoch, h.item->>'path', (h.item->>'occurrence')::integer, 'expired',
        layover.from_ms((h.item->>'at')::bigint), after + h.place
      from jsonb_array_elements(records) with ordinality as h (item, place)
     where h.item->>'kind' = 'callback' and h.item->>'value' is null;
end $$;

-- Marks the signals and answers that the turn's records took.
create or replace function layover.take_mail(run uuid, epoch integer, after integer, records jsonb) returns void
language plpgsql volatile as $$
begin
  update layover.signal g set position = after + h.place, taken_epoch = take_mail.epoch
    from jsonb_array_elements(coalesce(records, '[]')) with ordinality as h (item, place)
   where h.item ? 'signal' and g.run_id = run and g.number = (h.item->>'signal')::bigint and g.position is null;
  update layover.callback k set position = after + h.place
    from jsonb_array_elements(coalesce(records, '[]')) with ordinality as h (item, place)
   where h.item->>'kind' = 'callback' and h.item ? 'value'
     and k.run_id = run and k.epoch = coalesce((h.item->>'callbackEpoch')::integer, take_mail.epoch) and k.path = h.item->>'path'
     and k.occurrence = (h.item->>'occurrence')::integer;
end $$;

-- Arranges what a run owes anew, when its failed undos are tried again: those that are done come first, in the order of their records.
create or replace function layover.put_done_undos_first(run uuid, epoch integer) returns void
language plpgsql volatile as $$
begin
  update layover.record e
     set value = (e.value::jsonb || jsonb_build_object('owed', (
       select jsonb_agg(o.place order by h.position nulls last, o.number)
         from jsonb_array_elements(e.value::jsonb->'owed') with ordinality as o (place, number)
         left join layover.record h on h.run_id = e.run_id and h.epoch = e.epoch and h.position > e.position
           and h.path = '[undo]/' || (o.place->>'path') and h.occurrence = (o.place->>'occurrence')::integer)))::text
   where e.run_id = run and e.epoch = put_done_undos_first.epoch and e.kind = 'ending';
end $$;

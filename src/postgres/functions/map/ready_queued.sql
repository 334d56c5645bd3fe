-- Gives one free slot of a map to the first branch in its queue: queued -> ready.
create or replace function layover.ready_queued(run uuid, map text, ready_at timestamptz) returns json
language plpgsql volatile as $$
declare
  v_next json;
begin
  update layover.pending b set is_queued = false, ready_at = ready_queued.ready_at
   where (b.run_id, b.path, b.occurrence) = (
     select o.run_id, o.path, o.occurrence from layover.pending o
      where o.run_id = run and o.map = ready_queued.map and o.is_queued order by o.ordinal limit 1)
   returning json_build_array(json_build_object('path', b.path, 'occurrence', b.occurrence, 'turn', b.turn))
     into v_next;
  if v_next is not null then
    update layover.map m set slots = m.slots - 1 where m.run_id = run and m.path = ready_queued.map;
  end if;
  return v_next;
end $$;

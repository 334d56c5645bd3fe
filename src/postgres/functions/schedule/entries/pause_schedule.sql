-- scheduled -> paused, when somebody pauses a schedule. A deploy does not end that. The same again changes nothing.
create or replace function layover.pause_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v constant layover.schedule := layover.lock_schedule(p);
begin
  if v.name is null then
    return layover.answer_schedule(p, 'unknown');
  end if;
  update layover.schedule o
     set paused_at = layover.now(), paused_by = p->>'by', paused_reason = p->>'reason', due_at = null
   where o.namespace = v.namespace and o.name = v.name and o.paused_at is null;
  return layover.answer_schedule(p, 'paused');
end $$;

-- paused -> scheduled, when somebody ends the pause of a schedule. What the pause has missed is caught up as `catchUp` says.
create or replace function layover.resume_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v constant layover.schedule := layover.lock_schedule(p);
begin
  if v.name is null then
    return layover.answer_schedule(p, 'unknown');
  end if;
  update layover.schedule o
     set paused_at = null, paused_by = null, paused_reason = null, skipped_in_row = 0, due_at = layover.pick_due(p->'armed', o.fires_at)
   where o.namespace = v.namespace and o.name = v.name and o.paused_at is not null;
  return layover.answer_schedule(p, 'resumed');
end $$;

-- Changes the finish of a branch that announces a callback: an attempt that failed becomes a success if the answer to the callback is
-- there, since whoever answered knew the callback. Any other finish stays as it is. It locks the run first, as finish_branch does.
create or replace function layover.accept_announcement(namespace text, f jsonb) returns jsonb
language plpgsql volatile as $$
declare
  v_epoch integer;
begin
  if not f ? 'attempt' then
    return f;
  end if;
  select t.epoch into v_epoch from layover.run_state t
   where t.run_id = (f->>'runId')::uuid and t.namespace = accept_announcement.namespace for update;
  if not found or not layover.has_come((f->>'runId')::uuid, v_epoch, f) then
    return f;
  end if;
  return f - 'attempt' || jsonb_build_object('record', jsonb_build_object('value', '1{"$":"undefined"}',
    'isFailure', false, 'at', f->'attempt'->'endedAt', 'beganAt', f->'attempt'->'beganAt',
    'attempts', f->'attempt'->'number'));
end $$;

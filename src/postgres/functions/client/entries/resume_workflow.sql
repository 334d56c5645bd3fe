-- Ends the pause of a workflow: its new runs begin again. Runs that its pause holds are resumed by operate_runs with `holds`, page by page,
-- after this. Its schedules are looked at again. The same call again (its callId) does nothing, also when the workflow was paused again meanwhile. `isCertain`: no start is
-- under way that still sees the pause, and no schedule was left out. Otherwise call again.
--
-- From psql: select layover.resume_workflow('{"workflow": "order", "by": "ada"}').
create or replace function layover.resume_workflow(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_namespace  constant text := coalesce(p->>'namespace', 'default');
  v_call       constant uuid := coalesce((p->>'callId')::uuid, layover.new_id());
  v_is_certain boolean;
  s            record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  perform layover.lock_schedules(p); -- before await_starts: whoever fires them reads workflow_pause
  v_is_certain := layover.await_starts();
  update layover.workflow_pause q set resumed_at = layover.now(), resume_call_id = v_call
   where q.namespace = v_namespace and q.workflow = p->>'workflow' and q.resumed_at is null and q.resume_call_id is distinct from v_call;
  select q.resumed_at into s
    from layover.workflow_pause q where q.namespace = v_namespace and q.workflow = p->>'workflow';
  if not found then
    return json_build_object('outcome', 'not_applicable');
  end if;
  v_is_certain := layover.try_resume_schedules(p) and v_is_certain;
  perform layover.check_armed(p);
  return json_build_object('outcome', case when s.resumed_at is null then 'paused' else 'resumed' end, 'callId', v_call,
    'isCertain', v_is_certain);
end $$;

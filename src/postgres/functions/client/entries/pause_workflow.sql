-- Pauses a workflow: start_run pauses each new run of it (`is_held`) until resume_workflow. Runs that are there already are paused by
-- operate_runs with `holds`, page by page, after this. So are runs that other runs start.
-- Forks and runs that are retried are not held.
--
-- The same call again (its callId) does nothing, also when the workflow was resumed meanwhile. A workflow that is paused stays so, under the
-- id of the first call, which is answered. `isCertain`: no start is under way that has not seen the pause. If one is, call again.
--
-- From psql: select layover.pause_workflow('{"workflow": "order", "reason": "their API is down", "by": "ada"}').
create or replace function layover.pause_workflow(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_namespace  constant text := coalesce(p->>'namespace', 'default');
  v_is_certain boolean;
  s            record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  if p->>'workflow' is null then
    raise exception 'pause_workflow needs a workflow' using errcode = 'LO003',
      hint = 'select layover.pause_workflow(''{"workflow": "order"}'')';
  end if;
  v_is_certain := layover.await_starts();
  insert into layover.workflow_pause as q (namespace, workflow, call_id, asked_by, reason, paused_at)
    values (v_namespace, p->>'workflow', coalesce((p->>'callId')::uuid, layover.new_id()), p->>'by', p->>'reason', layover.now())
    on conflict (namespace, workflow) do update
      set call_id = excluded.call_id, asked_by = excluded.asked_by, reason = excluded.reason, paused_at = excluded.paused_at,
          resumed_at = null
    where q.resumed_at is not null and q.call_id <> excluded.call_id;
  select q.call_id, q.resumed_at into s
    from layover.workflow_pause q where q.namespace = v_namespace and q.workflow = p->>'workflow';
  perform layover.check_time(p);
  return json_build_object('outcome', case when s.resumed_at is null then 'paused' else 'resumed' end, 'callId', s.call_id,
    'isCertain', v_is_certain);
end $$;

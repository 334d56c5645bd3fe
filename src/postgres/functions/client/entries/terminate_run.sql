-- parked or running -> cancelled, at once: nothing cleans up, and no lease survives. A body that is at work learns it by its next renewal;
-- its result is not recorded.
--
-- From psql: select layover.terminate_run('{"runId": "…", "reason": "a test", "by": "ada"}').
create or replace function layover.terminate_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_why     constant text := concat_ws(': ', concat_ws(' by ', 'terminated', p->>'by'), p->>'reason');
  v_verdict json;
  v_ended   timestamptz;
  v_others  jsonb;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  perform layover.lock_steady_families(array[v_run]);
  select t.ended_at into v_ended from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null and v_ended is not null then
    v_verdict := layover.keep_operation(v_run, 'terminate', p, json_build_object('outcome', 'not_applicable', 'runId', v_run,
      'status', (select t.status from layover.run_state t where t.run_id = v_run)));
  elsif v_verdict is null then
    v_others := layover.leave_children(v_run, null, p->'armed', is_all => true);
    perform layover.end_run(v_run, jsonb_build_object('message', v_why));
    v_others := coalesce(v_others, '[]') || coalesce(layover.tell_parent(v_run, p->'armed')::jsonb, '[]');
    v_verdict := layover.keep_operation(v_run, 'terminate', p, json_build_object('outcome', 'terminated', 'runId', v_run));
  end if;
  perform layover.check_armed(p);
  return case when coalesce(v_others, '[]') = '[]' then v_verdict else (v_verdict::jsonb || jsonb_build_object('others', v_others))::json end;
end $$;

-- parked or running -> cancelled, at once: nothing cleans up, and no lease survives. A body that is at work learns it by its next renewal;
-- its result is not recorded.
--
-- It locks the run, voids its token, and then deletes the pending rows: a claim of a branch that has read the run before is over then,
-- and its row goes too.
--
-- From psql: select layover.terminate_run('{"runId": "…", "reason": "a test", "by": "ada"}').
create or replace function layover.terminate_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_why     constant text := concat_ws(': ', concat_ws(' by ', 'terminated', p->>'by'), p->>'reason');
  v_verdict json;
  v_ended   timestamptz;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select t.ended_at into v_ended from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null and v_ended is not null then
    v_verdict := layover.keep_operation(v_run, 'terminate', p, json_build_object('outcome', 'not_applicable', 'runId', v_run,
      'status', (select t.status from layover.run_state t where t.run_id = v_run)));
  elsif v_verdict is null then
    update layover.run_state t
       set status = 'cancelled', token = null, leased_until = null, ready_at = null, due_at = null, blocked = null,
           ended_at = layover.now(),
           finished_answer = coalesce(t.finished_answer, layover.plain_answer(t.turn, t.status)::text), -- for a finish that comes again
           error = '0' || jsonb_build_object('name', 'CancelledError', 'message', v_why)::text
     where t.run_id = v_run;
    perform from layover.pending b where b.run_id = v_run order by b.path, b.occurrence for update;
    delete from layover.pending b where b.run_id = v_run;
    delete from layover.map m where m.run_id = v_run;
    v_verdict := layover.keep_operation(v_run, 'terminate', p, json_build_object('outcome', 'terminated', 'runId', v_run));
  end if;
  perform layover.check_time(p);
  return v_verdict;
end $$;

-- parked or running -> the same, and paused: nothing new begins until resume_run. Turns that are under way are finished and recorded,
-- and mail is kept.
--
-- It locks the run, sets `paused_at`, and then locks the pending rows: a claim of a branch that has read the run before is over then,
-- and each later claim sees the pause. A run that is closing, after its cancel or its timeout, is not paused.
--
-- With `holds` it is paused with its workflow: then resume_workflow resumes it, too. If a person has paused it, or does so later, only a
-- person resumes it.
--
-- From psql: select layover.pause_run('{"runId": "…", "reason": "their API is down", "by": "ada"}').
create or replace function layover.pause_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_verdict json;
  s         record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select t.ended_at, t.ending_position is null
      and (t.is_closing or t.cancelled_position is not null or t.cancel_requested_at is not null) as is_closing into s
    from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null then
    if s.ended_at is not null or s.is_closing then
      v_verdict := json_build_object('outcome', 'not_applicable', 'runId', v_run, 'status',
        (select layover.run_status(t) from layover.run_state t where t.run_id = v_run));
    else
      update layover.run_state t
         set paused_at = coalesce(t.paused_at, layover.now()), due_at = null,
             is_held = p ? 'holds' and (t.paused_at is null or t.is_held)
       where t.run_id = v_run;
      perform from layover.pending b where b.run_id = v_run order by b.path, b.occurrence for update;
      v_verdict := json_build_object('outcome', 'paused', 'runId', v_run);
    end if;
    v_verdict := layover.keep_operation(v_run, 'pause', p, v_verdict);
  end if;
  perform layover.check_time(p);
  return v_verdict;
end $$;

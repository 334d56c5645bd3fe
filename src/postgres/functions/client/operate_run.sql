-- Does what a person asks to one of many runs: the entry of that verb says what. A run that is cancelled before it is deleted also answers
-- whom its end has made ready.
create or replace function layover.operate_run(verb text, p jsonb) returns json
language plpgsql volatile as $$
declare
  v_cancelled json;
  v_answer    json;
begin
  if verb = 'delete' and exists (select from layover.run_state t where t.run_id = (p->>'runId')::uuid and t.ended_at is null) then
    if not p ? 'cancels' then
      return json_build_object('outcome', 'not_applicable', 'runId', p->'runId');
    end if;
    -- under an id of its own: that of the call is for the deletion, which follows when the run is over
    v_cancelled := layover.cancel_run(p || jsonb_build_object('callId', md5(p->>'callId' || ' cancel')));
    if v_cancelled->>'outcome' <> 'cancelled' then
      return v_cancelled;
    end if;
  end if;
  v_answer := case verb
    when 'pause' then layover.pause_run(p)
    when 'resume' then layover.resume_run(p)
    when 'cancel' then layover.cancel_run(p)
    when 'terminate' then layover.terminate_run(p)
    when 'retry' then layover.retry_run(p - 'signal')
    when 'restart' then layover.restart_run(p)
    when 'delete' then layover.delete_run(p || '{"isOneOfMany": true}')
    when 'signal' then layover.send_signal(p || (p->'signal') || jsonb_build_object('signalId', p->'callId'))
  end;
  return case when v_cancelled is null then v_answer else (v_cancelled::jsonb || v_answer::jsonb)::json end;
end $$;

-- Answers what a replay of a run needs (describe_replay says what) to somebody who takes it elsewhere, and keeps that this person did so.
-- Only the first page is kept as an operation. The further pages (`after` from 1 on) name the `callId` of the first one, and are refused
-- without it: nobody gets the rest of a history unseen.
create or replace function layover.export_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run constant uuid := layover.find_run(p);
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  if layover.find_verdict(v_run, p) is null then
    if coalesce((p->>'after')::integer, 0) > 0 then
      return json_build_object('outcome', 'not_applicable');
    end if;
    perform layover.check_environment(p);
    perform layover.keep_operation(v_run, 'export', p, json_build_object('outcome', 'exported', 'runId', v_run));
  end if;
  perform layover.check_time(p);
  return layover.describe_replay(v_run, p);
end $$;

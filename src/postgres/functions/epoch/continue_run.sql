-- parked -> parked and ready, in the next epoch, when the handler continued as new: at the end of a finish, which it answers. The leases of its
-- branches are void, its mail is kept, and the runs that it waited for are asked to end, as at the end of a run.
create or replace function layover.continue_run(run uuid, input text, armed jsonb) returns json
language plpgsql volatile as $$
declare
  v_begun  json;
  v_answer json;
begin
  perform from layover.pending b where b.run_id = run order by b.path, b.occurrence for update;
  v_begun := layover.begin_epoch(run, '{}', jsonb_build_object('why', 'continued', 'input', input, 'isInputParsed', true), armed);
  update layover.run_state t
     set finished_answer = json_build_object('outcome', 'finished', 'turn', t.turn, 'status', t.status,
       'isReady', v_begun->>'readyAt' is null and t.due_at is not null, 'readyAt', v_begun->'readyAt')::text
   where t.run_id = run
   returning t.finished_answer::json into v_answer;
  return layover.name_others(run, v_answer, nullif(v_begun::jsonb->'others', 'null'));
end $$;

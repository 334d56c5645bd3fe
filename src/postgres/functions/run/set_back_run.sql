-- parked -> parked until it is tried again, or blocked, when the run's turn made no progress. Its caller has locked the run and called
-- park_run, whose answer it corrects. A turn that recorded something made progress, so its tries are counted anew. A timeout or a cancel
-- makes the run ready earlier.
create or replace function layover.set_back_run(run uuid, why text, got_on boolean, branches json, armed jsonb) returns json
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_until  timestamptz;
  v_answer json;
begin
  if got_on then
    delete from layover.setback w where w.run_id = run and w.path = '';
  end if;
  select layover.note_setback(run, '', 1, t.turn - 1, why) into v_until
    from layover.run_state t where t.run_id = run;
  update layover.run_state t
     set blocked = case when v_until is null then why else t.blocked end,
         ready_at = case when v_until is null then 'epoch' else least(v_until, layover.stops_at(t)) end,
         due_at = case when v_until is not null and layover.may_be_due(t)
           then least(t.due_at, layover.pick_due(armed, v_now)) end
   where t.run_id = run;
  update layover.run_state t
     set finished_answer = json_build_object('outcome', 'finished', 'turn', t.turn, 'status', t.status,
       'isReady', coalesce(t.ready_at <= v_now, false) and t.due_at is not null,
       'isBlocked', v_until is null, 'readyAt', case when v_until is not null then layover.to_ms(t.ready_at) end, 'branches', branches)::text
   where t.run_id = run
   returning t.finished_answer::json into v_answer;
  return v_answer;
end $$;

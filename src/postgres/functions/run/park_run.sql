-- parked -> parked, at the end of a finish that did more than go on: sets when the run is ready again, and when the scheduler must look.
-- Answers the finish. Its caller has locked the run and recorded what the turn demanded, so a signal, an answer or a cancel that came
-- during the turn makes the run ready now.
--
-- While a branch is pending, turns do not put off the scheduler's look: the dispatch of the branch may be lost, and turns may follow
-- for ever.
create or replace function layover.park_run(run uuid, next text, branches json, armed jsonb) returns json
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_mail   constant boolean := exists (select from layover.signal g where g.run_id = run and g.position is null)
             or exists (select from layover.callback k where k.run_id = run and k.position is null);
  v_ready  timestamptz;
  v_need   timestamptz;
  v_pending boolean;
  v_ended  boolean; -- another run has ended that this one waits for
  v_answer json;
begin
  select min(case when b.kind = 'retry' then b.ready_at when b.kind <> 'branch' and (b.child_bond is null or not b.is_released) then b.until end),
      min(coalesce(b.leased_until, b.ready_at)) filter (where layover.is_open_branch(b)),
      count(*) > 0, coalesce(bool_or(b.child_status is not null and not b.is_released), false)
    into v_ready, v_need, v_pending, v_ended
    from layover.pending b where b.run_id = run;
  if not v_pending then -- then no map is needed either, and the end of the run has nothing to delete
    delete from layover.map m where m.run_id = run;
  end if;
  if (v_mail or v_ended) and layover.has_answer(run) then
    v_ready := 'epoch';
  end if;
  update layover.run_state t
     set ready_at = case when next = 'parked' then least(v_ready, layover.stops_at(t)) else t.ready_at end,
         due_at = case when next in ('ready', 'parked') and layover.may_be_due(t)
           then least(case when v_need is not null then t.due_at end, layover.pick_due(armed,
             case when next = 'ready' then v_now
               else least(v_ready, v_need, layover.stops_at(t)) end))
           else t.due_at end,
         has_pending = v_pending, has_mail = v_mail or v_ended
   where t.run_id = run;
  update layover.run_state t
     set finished_answer = json_build_object('outcome', 'finished', 'turn', t.turn, 'status', t.status,
       'isReady', coalesce(t.ready_at <= v_now, false) and t.due_at is not null,
       'readyAt', layover.to_ms(nullif(t.ready_at, 'epoch')), 'branches', branches)::text
   where t.run_id = run
   returning t.finished_answer::json into v_answer;
  return v_answer;
end $$;

-- running -> parked and ready, when the holder of the lease has not seen all that has come. A branch was recorded during its turn, or
-- something has come that the turn rules out (has_come). The turn's own records are dropped. What it demanded from the part that it
-- saw is kept, unless its handler has ended by that part (ends_surely): then the run closes, so that nothing new begins until the next turn
-- ends it, or, where it cleans up before (`cleansUp`), writes that the run closes. A step whose record is dropped has had its effect: it leaves an
-- attempt (keep_dropped), so that it is undone if the run ends before that step is carried out again.
--
-- It also answers finishes that come again.
create or replace function layover.defer_run(namespace text, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_run      constant uuid := (f->>'runId')::uuid;
  v_token    constant uuid := (f->>'token')::uuid;
  v_seen     constant integer := (f->>'position')::integer;
  v_now      constant timestamptz := layover.now();
  v_has_carried_out constant boolean := f ? 'attempt' or coalesce(f->'records' @> '[{"kind": "step"}]', false);
  v_branches json;
  v_freed    json;
  v_answer   json;
  s          record;
begin
  update layover.run_state as t
     set status = 'parked', turn = t.turn + 1, token = null, leased_until = null, claims = 0, beginnings = 0, lost = 0,
         is_interrupted = t.is_interrupted and not v_has_carried_out,
         is_closing = t.is_closing or not f ? 'cleansUp' and layover.ends_surely(t, f),
         cancel_requested_at = case when f ? 'cleansUp' and layover.ends_surely(t, f) then v_now else t.cancel_requested_at end,
         cancel_reason = case when f ? 'cleansUp' and layover.ends_surely(t, f) then layover.why_it_cleans_up(f) else t.cancel_reason end,
         ends_as = coalesce(t.ends_as, case when layover.ends_surely(t, f) then layover.end_of(f) end),
         timeout_at = case when f ? 'cleansUp' or not layover.ends_surely(t, f) then t.timeout_at end, -- the first reason to end wins
         handed_position = greatest(t.handed_position, v_seen),
         ready_at = 'epoch',
         custom_status = coalesce((select o.says->>'value' from jsonb_array_elements(f->'says') with ordinality as o (says, number)
           where (o.says->>'saidAfter')::integer <= v_seen order by o.number desc limit 1), t.custom_status),
         due_at = case when layover.may_be_due(t)
           then least(t.due_at, layover.pick_due(f->'armed', v_now)) end,
         finished_token = v_token, has_pending = true
   where t.run_id = v_run and t.namespace = defer_run.namespace and t.token = v_token
   returning t.turn, t.epoch, t.is_closing into s;
  if not found then
    return layover.answer_again(namespace, v_run, v_token);
  end if;
  if v_has_carried_out then
    perform layover.keep_dropped(v_run, s.epoch, f);
  end if;
  delete from layover.pending b where b.run_id = v_run and b.position <= v_seen;
  perform layover.release_losers(v_run, v_seen, f->'released');
  if s.is_closing then
    perform layover.release_all(v_run, with_cleanups => true);
  end if;
  v_freed := case when f ? 'released' then layover.ready_freed(v_run) end;
  if f ? 'patches' then
    perform layover.keep_patches(v_run, s.epoch, f->'patches', v_seen);
  end if;
  if f ? 'input' then
    perform layover.keep_input(v_run, s.epoch, f->>'input');
  end if;
  if f ? 'demands' and not s.is_closing then
    v_branches := layover.record_demands(v_run, v_seen, f->'demands');
  end if;
  if v_freed is not null then
    v_branches := v_freed::jsonb || coalesce(v_branches::jsonb, '[]');
  end if;
  update layover.run_state t
     set finished_answer = json_build_object('outcome', 'deferred', 'turn', t.turn, 'status', t.status,
       'isReady', t.due_at is not null, 'branches', v_branches)::text
   where t.run_id = v_run
   returning t.finished_answer::json into v_answer;
  return v_answer;
end $$;

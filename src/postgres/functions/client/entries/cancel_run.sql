-- parked or running -> closing: the run begins nothing new, its handler is told and cleans up, and then it is `cancelled`. Leases that stand
-- end first: what is at work is told by its next renewal. A run that nobody has claimed yet is `cancelled` at once.
--
-- The runs that this one waits for are asked to end as well (leave_children): at once, since nobody may carry the code of this one.
--
-- The next claim writes the cancel into the history (reclaim_run). So the run is made ready and due. It is no longer paused or blocked, and
-- every deployment may try it again. The first reason wins: a second cancel changes nothing.
--
-- It locks the run, its pending rows and those of its family, and then sets `cancel_requested_at`: a claim of a branch that has read the run
-- before is over then, and each later claim sees the cancel.
--
-- From psql: select layover.cancel_run('{"runId": "…", "reason": "ordered twice", "by": "ada"}').
create or replace function layover.cancel_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_now     timestamptz;
  v_verdict json;
  v_turn    integer;
  v_others  json;
  s         record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  perform layover.lock_steady_families(array[v_run]);
  select t.turn, t.ended_at, t.cancel_requested_at is not null as is_cancelled, t.leased_until,
      case when t.cancel_requested_at is null then t.cancelled_position is not null or t.ending_position is not null or t.is_closing
        else coalesce(t.ends_as, (select h.value::jsonb from layover.record h where h.run_id = v_run and h.epoch = t.epoch
          and h.position = t.ending_position))->>'next' = 'failed' end as is_ending, -- it ends as failed, and nobody has cancelled it
      t.turn = 1 and t.token is null and not t.is_interrupted and t.last_position = 0 as is_untouched
    into s from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null and (s.ended_at is not null or s.is_ending) then
    v_verdict := layover.keep_operation(v_run, 'cancel', p, json_build_object('outcome', 'not_applicable', 'runId', v_run,
      'status', (select layover.run_status(t) from layover.run_state t where t.run_id = v_run)));
  elsif v_verdict is null and s.is_untouched then
    perform layover.end_run(v_run, jsonb_build_object('message', concat_ws(': ', 'the run was cancelled', p->>'reason'))
      || case when p ? 'reason' then jsonb_build_object('data', jsonb_build_object('reason', p->'reason')) else '{}' end);
    v_others := layover.tell_parent(v_run, p->'armed');
    v_verdict := layover.keep_operation(v_run, 'cancel', p, json_build_object('outcome', 'cancelled', 'runId', v_run));
  elsif v_verdict is null then
    v_now := layover.now();
    if not s.is_cancelled then
      update layover.run_state t
         set cancel_requested_at = v_now, cancel_reason = p->>'reason', paused_at = null, blocked = null, refused_by = null,
             ready_at = 'epoch', due_at = least(t.due_at, layover.pick_due(p->'armed', v_now))
       where t.run_id = v_run;
      v_others := layover.leave_children(v_run, null, p->'armed', is_all => true);
      v_turn := case when coalesce(s.leased_until <= v_now, true) and not exists (
        select from layover.pending b where b.run_id = v_run and b.leased_until > v_now and not b.is_shielded) then s.turn end;
    end if;
    v_verdict := layover.keep_operation(v_run, 'cancel', p, json_build_object('outcome', 'cancelling', 'runId', v_run));
  end if;
  perform layover.check_armed(p);
  return case when v_turn is null and v_others is null then v_verdict
    else (v_verdict::jsonb || jsonb_strip_nulls(jsonb_build_object('turn', v_turn, 'others', v_others)))::json end;
end $$;

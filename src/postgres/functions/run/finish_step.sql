-- running -> running, as the next turn, when the holder of the lease finishes a turn that records one step and does nothing else
-- (is_one_step). It is the path of each step: one update and one insert. Null: somebody else has the turn, or the run may not simply go
-- on (goes_on), so finish_run finds out what is to be done.
create or replace function layover.finish_step(p jsonb, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_record constant jsonb := f->'records'->0;
  s        record;
begin
  update layover.run_state as t
     set status = 'running', turn = t.turn + 1, token = (f->'claim'->>'token')::uuid, leased_until = layover.lease_end(p, v_now),
         claims = 0, beginnings = 0, lost = 0, dispatches = 0, is_interrupted = false,
         last_position = t.last_position + 1, handed_position = t.last_position + 1,
         history_bytes = t.history_bytes + coalesce((f->>'bytes')::integer, 0),
         last_record_at = layover.from_ms((v_record->>'at')::bigint),
         ready_at = timestamptz 'epoch', due_at = layover.pick_due(f->'armed', v_now),
         custom_status = coalesce(f->'says'->-1->>'value', t.custom_status),
         finished_token = t.token, finished_answer = null
   where t.run_id = (f->>'runId')::uuid and t.namespace = p->>'namespace' and t.token = (f->>'token')::uuid
     and t.last_position = (f->>'position')::integer and layover.goes_on(t, v_now)
   returning t.epoch, t.turn, t.last_position, layover.describe_held(t) as claim
   into s;
  if not found then
    return null;
  end if;
  insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value, recorded_at, began_at)
    values ((f->>'runId')::uuid, s.epoch, s.last_position, 'step', v_record->>'path', (v_record->>'occurrence')::integer,
      coalesce((v_record->>'attempts')::integer, 1), coalesce((v_record->>'isFailure')::boolean, false), v_record->>'value',
      layover.from_ms((v_record->>'at')::bigint), layover.from_ms((v_record->>'beganAt')::bigint));
  return layover.claiming_answer(s.turn, s.claim);
end $$;

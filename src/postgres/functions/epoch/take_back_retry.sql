-- parked -> failed, in the epoch before, when the first turn of a retry finds that the code does not ask for what was kept: the run is as it was
-- before the retry. Its caller has locked the run and finished the turn, and no other deployment may have code that fits. Answers whether it
-- was so.
--
-- Other deployments may have refused the run before, each in one turn. Once another turn has come to its end, or may have begun something, the
-- run is blocked instead: what it waits for, or has begun, would be lost.
create or replace function layover.take_back_retry(run uuid, why text) returns boolean
language plpgsql volatile as $$
declare
  v_before record;
begin
  select e.epoch, e.before, b.*
    into v_before
    from layover.epoch e join layover.run_state t on t.run_id = e.run_id and t.epoch = e.epoch and t.last_position = e.kept,
      jsonb_populate_record(null::layover.run_state, e.before->'state') as b
   where e.run_id = run and e.why = 'retried' and t.cancel_requested_at is null and not t.is_interrupted and t.begun is null
     and t.turn = b.turn + 1 + greatest(1, (select count(*) from jsonb_object_keys(t.refused_by)))
     and not exists (select from layover.pending o where o.run_id = run) -- a branch may have been refused, which takes no turn
     and not exists (select from layover.attempt a where a.run_id = run and a.epoch = e.epoch and a.ended_at > e.began_at);
  if not found then
    return false;
  end if;
  delete from layover.record h where h.run_id = run and h.epoch = v_before.epoch;
  delete from layover.attempt a where a.run_id = run and a.epoch = v_before.epoch;
  delete from layover.patch x where x.run_id = run and x.epoch = v_before.epoch;
  delete from layover.pending b where b.run_id = run;
  delete from layover.map m where m.run_id = run;
  delete from layover.setback w where w.run_id = run;
  delete from layover.signal g where g.run_id = run and g.id = (v_before.before->>'signalId')::uuid;
  update layover.signal g set position = (x.item->>'position')::integer, taken_epoch = v_before.epoch - 1
    from jsonb_array_elements(v_before.before->'signals') as x (item)
   where g.run_id = run and g.number = (x.item->>'number')::bigint;
  insert into layover.callback select (jsonb_populate_record(null::layover.callback, x.item)).*
      from jsonb_array_elements(v_before.before->'callbacks') as x (item)
    on conflict on constraint callback_pkey do update set position = excluded.position;
  update layover.run_state t
     set epoch = v_before.epoch - 1, status = 'failed', error = v_before.error, failure = v_before.failure, ended_at = v_before.ended_at,
         last_position = v_before.last_position, handed_position = v_before.handed_position,
         history_bytes = v_before.history_bytes, last_record_at = v_before.last_record_at, closed = v_before.closed,
         cancel_requested_at = v_before.cancel_requested_at, cancel_reason = v_before.cancel_reason,
         cancelled_position = v_before.cancelled_position, ending_position = v_before.ending_position, undos = v_before.undos,
         failed_undos = v_before.failed_undos,
         has_pending = false, blocked = null, refused_by = null, paused_at = null, ready_at = null, due_at = null, timeout_at = null
   where t.run_id = run;
  update layover.operation x
     set verdict = (jsonb_build_object('outcome', 'would_repeat', 'runId', run, 'places', jsonb_build_array(), 'why', why))::text
   where x.run_id = run and x.verb = 'retry' and x.asked_at = (
     select max(o.asked_at) from layover.operation o where o.run_id = run and o.verb = 'retry' and o.verdict::jsonb->>'outcome' = 'retried');
  delete from layover.epoch e where e.run_id = run and e.epoch = v_before.epoch;
  return true;
end $$;

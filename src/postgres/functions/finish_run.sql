-- running -> parked, completed, failed or cancelled, when the holder of the lease finishes a turn that saw the whole
-- history: appends the turn's records, then moves the run. (A turn that saw less: see defer_run.)
create or replace function layover.finish_run(namespace text, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_next     constant text := f->>'next';
  v_now      constant timestamptz := layover.now();
  v_branches json;
  v_freed    json;
  s          record;
begin
  with moved as (
    update layover.run_state as t
       set status = case when v_next in ('completed', 'failed', 'cancelled') then v_next else 'parked' end,
           turn = t.turn + 1,
           token = null, leased_until = null, claims = 0,
           last_position = t.last_position + layover.count_of(f->'records'),
           handed_position = t.last_position + layover.count_of(f->'records'),
           history_bytes = t.history_bytes + coalesce((f->>'bytes')::integer, 0),
           last_record_at = coalesce(layover.from_ms((f->'records'->-1->>'at')::bigint), t.last_record_at),
           ready_at = case when v_next in ('ready', 'parked', 'blocked') then v_now end,
           due_at = case when v_next in ('ready', 'parked') and t.paused_at is null and t.blocked is null
             then layover.pick_due(f->'armed', v_now) end,
           blocked = case when v_next = 'blocked' then f->>'value' when v_next in ('ready', 'parked') then t.blocked end,
           ended_at = case when v_next in ('completed', 'failed', 'cancelled') then v_now end,
           result = case when v_next = 'completed' then f->>'value' end,
           error = case when v_next in ('failed', 'cancelled') then f->>'value' end,
           finished_token = t.token, finished_answer = null
     where t.run_id = (f->>'runId')::uuid and t.namespace = finish_run.namespace and t.token = (f->>'token')::uuid
       and t.last_position = (f->>'position')::integer
     returning t.run_id, t.epoch, t.turn, t.has_pending, t.has_mail
  ), appended as (
    insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value,
        recorded_at, began_at)
      select m.run_id, m.epoch, (f->>'position')::integer + h.place, h.item->>'kind', h.item->>'path',
          (h.item->>'occurrence')::integer, coalesce((h.item->>'attempts')::integer, 1),
          coalesce((h.item->>'isFailure')::boolean, false), h.item->>'value',
          layover.from_ms((h.item->>'at')::bigint), layover.from_ms((h.item->>'beganAt')::bigint)
        from moved m, jsonb_array_elements(f->'records') with ordinality as h (item, place)
  )
  select m.run_id, m.epoch, m.turn, m.has_pending, m.has_mail into s from moved m;
  if not found then
    return layover.defer_run(namespace, f);
  elsif v_next = 'ready' and not (s.has_pending or s.has_mail or f ? 'attempt') then
    return layover.plain_answer(s.turn);
  end if;

  if s.has_pending then
    perform layover.settle_pending(s.run_id, (f->>'position')::integer, f->'records');
    if v_next in ('completed', 'failed', 'cancelled') then
      perform from layover.pending b where b.run_id = s.run_id order by b.path, b.occurrence for update;
    else
      perform layover.release_losers(s.run_id, null, f->'released');
      v_freed := case when f ? 'released' then layover.ready_freed(s.run_id) end;
    end if;
  end if;
  if s.has_mail then
    perform layover.take_mail(s.run_id, s.epoch, (f->>'position')::integer, f->'records');
  end if;
  perform layover.expire_callbacks(s.run_id, s.epoch, (f->>'position')::integer, f->'records');
  if f ? 'attempt' then
    perform layover.record_attempt(s.run_id, s.epoch, f->'attempt');
  end if;
  if v_next in ('completed', 'failed', 'cancelled') then
    delete from layover.pending b where b.run_id = s.run_id;
    delete from layover.map m where m.run_id = s.run_id;
  elsif f ? 'demands' then
    v_branches := layover.record_demands(s.run_id, null, f->'demands');
  end if;
  if v_freed is not null then
    v_branches := v_freed::jsonb || coalesce(v_branches::jsonb, '[]');
  end if;
  return layover.park_run(s.run_id, v_next, v_branches, f->'armed');
end $$;

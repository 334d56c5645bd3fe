-- running -> parked, completed, failed or cancelled, when the holder of the lease finishes a turn that saw the whole history. It
-- appends the turn's records and moves the run. (defer_run finishes a turn that saw less.)
-- running -> parked and ready, when the run would end with a record later than its timeout. The records are kept, the end is dropped,
-- and the next claim writes that the run closes.
-- running -> parked and ready, when the run cleans up before it ends as this finish says (`cleansUp`, `ends_as`). Its history is full, and its
-- handler is told, as after a cancel. Or its handler has thrown amid a cleanup, which goes on. The next claim writes that the run closes.
--
-- A turn that came to the record of one step and nothing else is finished by finish_step, if it claims the next turn.
create or replace function layover.finish_run(p jsonb, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_next     text := f->>'next';
  v_is_over  constant boolean := layover.is_over(v_next);
  v_is_more  constant boolean := f ?| '{attempt,closing,children,continues}' or coalesce(f->'records' @> '[{"kind": "callback"}]', false);
  v_now      constant timestamptz := layover.now();
  v_branches json;
  v_freed    json;
  v_record   jsonb;
  v_started  json;
  v_others   jsonb;
  v_answer   json;
  s          record;
begin
  update layover.run_state as t
     set status = case when v_is_over then v_next else 'parked' end,
         turn = t.turn + 1, token = null, leased_until = null, claims = 0, beginnings = 0, lost = 0,
         is_interrupted = t.is_interrupted and (f ? 'setback' or v_next in ('ready', 'blocked')) and layover.count_of(f->'records') = 0
           and not f ?| '{attempt,demands,children,continues,closing,ending}',
         is_closing = f ? 'closing' and not f ? 'cleansUp' or t.is_closing and not f ? 'ending',
         cancel_requested_at = case when f ? 'cleansUp' then v_now else t.cancel_requested_at end,
         cancel_reason = case when f ? 'cleansUp' then layover.why_it_cleans_up(f) else t.cancel_reason end,
         ends_as = case when not (v_is_over or f ? 'ending') then coalesce(t.ends_as, case when f ? 'closing' then layover.end_of(f) end) end,
         last_position = t.last_position + layover.count_of(f->'records'),
         handed_position = t.last_position + layover.count_of(f->'records'),
         history_bytes = t.history_bytes + coalesce((f->>'bytes')::integer, 0),
         last_record_at = coalesce(layover.from_ms((f->'records'->-1->>'at')::bigint), t.last_record_at),
         ready_at = case when not v_is_over then timestamptz 'epoch' end,
         due_at = case when (v_next in ('ready', 'parked') or f ? 'deployment') and layover.may_be_due(t)
           then least(case when t.has_pending or f ? 'demands' then t.due_at end, layover.pick_due(f->'armed', v_now)) end,
         blocked = case when v_next = 'blocked' and not f ? 'deployment' then f->>'value' when not v_is_over then t.blocked end,
         ended_at = case when v_is_over then v_now end,
         result = case when v_next = 'completed' then f->>'value' end,
         error = case when v_next in ('failed', 'cancelled') then f->>'value' end,
         closed = case when f ? 'closes'
           then t.closed || array(select jsonb_array_elements_text(f->'closes')) else t.closed end,
         failure = case when v_next = 'failed' then f->'failure' end,
         custom_status = coalesce(f->'says'->-1->>'value', t.custom_status),
         timeout_at = case when not f ?| '{ending,closing}' or f ? 'cleansUp' then t.timeout_at end, -- the first reason to end wins
         ending_position = case when f ? 'ending' then t.last_position + layover.count_of(f->'records') else t.ending_position end,
         undos = case when f ? 'ending' then (f->>'ending')::integer else t.undos end,
         failed_undos = coalesce((f->>'failedUndos')::integer, t.failed_undos),
         finished_token = t.token, finished_answer = null
   where t.run_id = (f->>'runId')::uuid and t.namespace = p->>'namespace' and t.token = (f->>'token')::uuid
     and t.last_position = (f->>'position')::integer
     and (not f ?| '{closes,announces}' or not layover.has_come(t.run_id, t.epoch, f))
     and (not (v_is_over or f ?| '{ending,closing}') or layover.ends_in_time(t, f->'records'))
     and (not f ? 'ending' or f ? 'hasLockedRows' and not layover.is_at_work(t.run_id, v_now))
     and (f ? 'hasLockedFamily' or not (t.has_parent and (v_is_over or v_next = 'blocked')
       or t.children > 0 and (layover.leaves_others(f) or layover.has_left_child(t.run_id))))
   returning t.run_id, t.epoch, t.turn, t.has_pending, t.has_mail, t.children, t.has_parent
   into s;
  if not found then
    -- The update may have waited for the row and then left it, and holds its lock. So families are locked only where the update did not
    -- want the row at all, because of them: locks that are taken later are out of the one order.
    if not f ? 'hasLockedFamily' and exists (select from layover.run_state t
        where t.run_id = (f->>'runId')::uuid and t.namespace = p->>'namespace' and t.token = (f->>'token')::uuid
          and t.last_position = (f->>'position')::integer and (t.has_parent and (v_is_over or v_next = 'blocked')
            or t.children > 0 and (layover.leaves_others(f) or layover.has_left_child(t.run_id))))
    then
      perform layover.lock_steady_families(array[(f->>'runId')::uuid]);
      return layover.finish_run(p, f || '{"hasLockedFamily": true, "hasLockedRows": true}');
    elsif f ? 'ending' and not f ? 'hasLockedRows' then
      -- This waits for the claim of a branch that is not committed yet, which is_at_work would not see.
      perform layover.lock_run((f->>'runId')::uuid);
      return layover.finish_run(p, f || '{"hasLockedRows": true}');
    elsif (v_is_over or f ?| '{ending,closing}') and exists (select from layover.run_state t
      where t.run_id = (f->>'runId')::uuid and t.namespace = p->>'namespace' and t.token = (f->>'token')::uuid
        and t.last_position = (f->>'position')::integer and not layover.ends_in_time(t, f->'records'))
    then
      return layover.finish_run(p, layover.without_ending(f) || '{"next": "ready"}');
    elsif f ? 'ending' and exists (select from layover.run_state t
      where t.run_id = (f->>'runId')::uuid and t.namespace = p->>'namespace' and t.token = (f->>'token')::uuid
        and t.last_position = (f->>'position')::integer)
    then
      return layover.finish_run(p, layover.without_ending(f) || '{"closing": true}');
    end if;
    return layover.defer_run(p->>'namespace', f);
  end if;
  for v_place in 0 .. layover.count_of(f->'records') - 1 loop
    v_record := f->'records'->v_place;
    if v_record->>'kind' <> 'step' then
      perform layover.check_kind(v_record->>'kind');
    end if;
    insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value,
        recorded_at, began_at)
      values (s.run_id, s.epoch, (f->>'position')::integer + 1 + v_place, v_record->>'kind', v_record->>'path',
        (v_record->>'occurrence')::integer, coalesce((v_record->>'attempts')::integer, 1),
        coalesce((v_record->>'isFailure')::boolean, false), v_record->>'value',
        layover.from_ms((v_record->>'at')::bigint), layover.from_ms((v_record->>'beganAt')::bigint));
  end loop;
  if f ? 'patches' then
    perform layover.keep_patches(s.run_id, s.epoch, f->'patches', null);
  end if;
  if f ? 'input' then
    perform layover.keep_input(s.run_id, s.epoch, f->>'input');
  end if;
  if v_next = 'ready' and not (s.has_pending or s.has_mail or v_is_more) then
    return layover.plain_answer(s.turn, v_next);
  end if;

  if s.has_pending then
    perform layover.end_waits(s.run_id, (f->>'position')::integer, f->'records');
    if v_is_over or f ? 'ending' then
      perform from layover.pending b where b.run_id = s.run_id order by b.path, b.occurrence for update;
    else
      perform layover.release_losers(s.run_id, null, f->'released');
      if f ? 'closing' and not f ? 'cleansUp' then
        perform layover.release_all(s.run_id, with_cleanups => true);
      end if;
      v_freed := case when f ? 'released' then layover.ready_freed(s.run_id) end;
    end if;
    if s.children > 0 then
      v_others := layover.leave_children(s.run_id, f->'records', f->'armed', v_is_over);
    end if;
  end if;
  if s.has_mail then
    perform layover.take_mail(s.run_id, s.epoch, (f->>'position')::integer, f->'records');
  end if;
  if f->'records' @> '[{"kind": "callback"}]' then
    perform layover.expire_callbacks(s.run_id, s.epoch, (f->>'position')::integer, f->'records');
  end if;
  if f ? 'attempt' then
    perform layover.record_attempt(s.run_id, s.epoch, f->'attempt');
  end if;
  if v_is_over or f ? 'ending' then
    if s.has_pending then
      delete from layover.pending b where b.run_id = s.run_id;
      delete from layover.map m where m.run_id = s.run_id;
    end if;
  end if;
  if v_is_over then
    if s.has_parent then
      v_others := coalesce(v_others, '[]') || coalesce(layover.tell_parent(s.run_id, f->'armed')::jsonb, '[]');
    end if;
    return layover.name_others(s.run_id, layover.plain_answer(s.turn, v_next), v_others);
  elsif f ? 'continues' and layover.may_continue(s.run_id, v_now) then
    return layover.name_others(s.run_id, layover.continue_run(s.run_id, f->>'continues', f->'armed'), v_others);
  elsif f ? 'demands' then
    v_branches := layover.record_demands(s.run_id, null, f->'demands');
  end if;
  if v_freed is not null then
    v_branches := v_freed::jsonb || coalesce(v_branches::jsonb, '[]');
  end if;
  if v_next = 'blocked' and f ? 'deployment' and not layover.refuse_run(s.run_id, f->>'deployment', f->>'value') then
    v_answer := layover.park_run(s.run_id, 'ready', v_branches, f->'armed'); -- another deployment may claim it
    return layover.name_others(s.run_id, v_answer, v_others);
  elsif v_next = 'blocked' and layover.take_back_retry(s.run_id, f->>'value') then
    if s.has_parent then -- it may have been retried, too, and wait again
      v_others := coalesce(v_others, '[]') || coalesce(layover.tell_parent(s.run_id, f->'armed')::jsonb, '[]');
    end if;
    return layover.name_others(s.run_id, layover.plain_answer(s.turn, 'failed'), v_others);
  end if;
  if f ? 'children' then
    v_started := layover.start_children(s.run_id, f);
    if v_started is null or (v_started->>'hasRecords')::boolean then
      v_next := 'ready';
    end if;
  end if;
  v_answer := layover.park_run(s.run_id, v_next, v_branches, f->'armed');
  if f ? 'setback' then
    v_answer := layover.set_back_run(s.run_id, f->>'setback', f ? 'records', v_branches, f->'armed');
  elsif v_started is not null then
    v_answer := v_answer::jsonb || '{"hasStarted": true}';
  end if;
  if v_started is not null then
    v_others := coalesce(v_others, '[]') || (v_started::jsonb->'others');
  end if;
  return layover.name_others(s.run_id, v_answer, v_others);
end $$;

-- running -> parked, completed, failed or cancelled, when the holder of the lease finishes its turn.
--
-- Appends the turn's records only if it saw the whole history; otherwise keeps just the demands that it made from the
-- part it saw, answers `deferred`, and the run stays ready.
create or replace function layover.finish_run(namespace text, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := (f->>'runId')::uuid;
  v_token   constant uuid := (f->>'token')::uuid;
  v_seen    constant integer := (f->>'position')::integer;
  v_count   constant integer := coalesce(jsonb_array_length(f->'records'), 0);
  v_next    constant text := f->>'next';
  v_now     constant timestamptz := layover.now();
  v_answer  json;
  v_branches json;
  s         record;
begin
  update layover.run_state as t
     set status = case when t.last_position = v_seen and v_next in ('completed', 'failed', 'cancelled')
           then v_next else 'parked' end,
         turn = t.turn + 1,
         token = null, leased_until = null, claims = 0,
         last_position = t.last_position + case when t.last_position = v_seen then v_count else 0 end,
         handed_position = case when t.last_position = v_seen then v_seen + v_count
           else greatest(t.handed_position, v_seen) end,
         history_bytes = t.history_bytes
           + case when t.last_position = v_seen then coalesce((f->>'bytes')::integer, 0) else 0 end,
         last_record_at = case when t.last_position = v_seen and v_count > 0
           then layover.from_ms((f->'records'->-1->>'at')::bigint) else t.last_record_at end,
         ready_at = case when t.last_position = v_seen and v_next in ('completed', 'failed', 'cancelled')
           then null else v_now end,
         due_at = case when t.paused_at is not null or t.blocked is not null
             or (t.last_position = v_seen and v_next not in ('ready', 'parked')) then null
           else layover.pick_due(f->'armed', v_now) end,
         blocked = case when t.last_position = v_seen and v_next = 'blocked' then f->>'value' else t.blocked end,
         ended_at = case when t.last_position = v_seen and v_next in ('completed', 'failed', 'cancelled')
           then v_now end,
         result = case when t.last_position = v_seen and v_next = 'completed' then f->>'value' end,
         error = case when t.last_position = v_seen and v_next in ('failed', 'cancelled') then f->>'value' end,
         custom_status = coalesce(f->>'customStatus', t.custom_status),
         finished_token = v_token, finished_answer = null
   where t.run_id = v_run and t.namespace = finish_run.namespace and t.token = v_token
   returning t.epoch, t.turn, t.status, t.last_position = v_seen + v_count as is_whole, t.cancelled_position,
     t.paused_at, t.blocked
     into s;
  if not found then
    return layover.answer_again(namespace, v_run, v_token);
  end if;

  if s.is_whole and v_count > 0 then
    perform layover.append_records(v_run, s.epoch, v_seen, f->'records');
  end if;
  delete from layover.pending b where b.run_id = v_run and b.position <= v_seen;
  if f ? 'attempt' then
    perform layover.record_attempt(v_run, s.epoch, f->'attempt');
  end if;
  if f ? 'released' then
    perform layover.release_losers(v_run, case when s.is_whole then v_seen + v_count else v_seen end, f->'released');
  end if;
  if s.status in ('completed', 'failed', 'cancelled') then
    delete from layover.pending b where b.run_id = v_run;
    delete from layover.map m where m.run_id = v_run;
  else
    if f ? 'demands' then
      v_branches := layover.record_demands(v_run, case when s.is_whole then v_seen + v_count else v_seen end,
        f->'demands');
    end if;
    if s.is_whole and v_next = 'parked' then
      perform layover.park_run(v_run, f->'armed');
    end if;
  end if;

  if s.is_whole and v_next = 'ready' and v_branches is null then
    return layover.answer_again(namespace, v_run, v_token);
  end if;
  update layover.run_state t
     set finished_answer = json_build_object('outcome', case when s.is_whole then 'finished' else 'deferred' end,
       'turn', t.turn, 'status', t.status, 'isReady', t.ready_at <= v_now and t.due_at is not null,
       'readyAt', layover.to_ms(t.ready_at), 'branches', v_branches)::text
   where t.run_id = v_run
   returning t.finished_answer::json into v_answer;
  return v_answer;
end $$;

-- Answers the claim of a run: the history that its process does not hold, what the run waits for, and what it may take. A history that
-- does not fit in `budget` (bytes) begins here, and read_page answers the rest.
create or replace function layover.describe_claimed(s layover.run_state, have jsonb, budget bigint) returns json
language plpgsql volatile as $$
declare
  v_have constant integer := case when (have->>'epoch')::integer = s.epoch
    and (have->>'position')::integer <= s.last_position and layover.is_of_version(s.run_id, have) then (have->>'position')::integer end;
begin
  return json_build_object('outcome', 'claimed', 'now', layover.to_ms(layover.now()), 'epoch', s.epoch, 'turn', s.turn,
    'have', v_have, 'position', s.last_position, 'handedPosition', s.handed_position,
    'lastRecordAt', layover.to_ms(s.last_record_at), 'timeoutAt', layover.to_ms(s.timeout_at),
    'readyAt', case when s.ready_at > 'epoch' then layover.to_ms(s.ready_at) end, 'claims', s.claims,
    'beginnings', s.beginnings, 'begun', s.begun, 'historyBytes', s.history_bytes,
    'records', case when s.last_position > coalesce(v_have, 0)
      then layover.read_records(s.run_id, s.epoch, coalesce(v_have, 0), s.last_position,
        layover.page_budget(s.history_bytes, s.last_position, budget)) end,
    'pending', case when s.has_pending then layover.refresh_pending(s.run_id, case when v_have is null then -1
      else coalesce((have->>'rowsThrough')::integer, 2147483647) end) end,
    'signals', case when s.has_mail then layover.read_signals(s.run_id) end,
    'callbacks', case when s.has_mail then layover.read_answers(s.run_id, s.epoch) end,
    'children', case when s.has_mail and s.has_pending then layover.read_children(s.run_id) end,
    'patches', case when s.handed_position >= 0 and s.last_position > coalesce(v_have, -1) then layover.read_patches(s.run_id, s.epoch) end,
    'attempted', case when s.is_closing then layover.read_attempted(s.run_id, s.epoch) end, 'endsAs', s.ends_as,
    'run', case when v_have is null then case when s.epoch = 0 then layover.read_run(s.run_id) else layover.read_epoch(s.run_id, s.epoch) end end);
end $$;

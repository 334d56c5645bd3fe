-- Answers the claim of a run whose history its process holds: nothing needs to be read. It is one expression, so that it is inlined
-- on the path of each step.
create or replace function layover.describe_held(s layover.run_state) returns json
language sql volatile as $$
  select json_build_object('outcome', 'claimed', 'now', layover.to_ms(layover.now()), 'epoch', s.epoch, 'turn', s.turn,
    'have', s.last_position, 'position', s.last_position, 'handedPosition', s.handed_position,
    'lastRecordAt', layover.to_ms(s.last_record_at), 'timeoutAt', layover.to_ms(s.timeout_at), 'claims', s.claims,
    'beginnings', s.beginnings, 'historyBytes', s.history_bytes)
$$;

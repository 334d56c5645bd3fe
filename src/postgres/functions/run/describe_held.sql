-- A claimed run that its process holds as it is: there is nothing more to say. One expression, so that it is inlined on
-- the path of every step.
create or replace function layover.describe_held(s layover.run_state) returns json
language sql volatile as $$
  select json_build_object('outcome', 'claimed', 'now', layover.to_ms(layover.now()), 'epoch', s.epoch, 'turn', s.turn,
    'have', s.last_position, 'position', s.last_position, 'handedPosition', s.handed_position,
    'lastRecordAt', layover.to_ms(s.last_record_at), 'timeoutAt', layover.to_ms(s.timeout_at), 'claims', s.claims,
    'beginnings', s.beginnings, 'historyBytes', s.history_bytes)
$$;

-- Answers a finish whose run goes on, together with the claim of its next turn.
create or replace function layover.claiming_answer(turn integer, claim json) returns json
language sql stable as $$
  select json_build_object('outcome', 'finished', 'turn', turn, 'status', 'parked', 'isReady', true, 'claim', claim)
$$;

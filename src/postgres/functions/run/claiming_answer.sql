-- The same, where the next turn was claimed along.
create or replace function layover.claiming_answer(turn integer, claim json) returns json
language sql stable as $$
  select json_build_object('outcome', 'finished', 'turn', turn, 'status', 'parked', 'isReady', true, 'claim', claim)
$$;

-- What the finish of a run is told that simply goes on; not worth storing.
create or replace function layover.plain_answer(turn integer) returns json
language sql stable as $$
  select json_build_object('outcome', 'finished', 'turn', turn, 'status', 'parked', 'isReady', true)
$$;

-- Answers the finish of a run that goes on, or is over. Such an answer is not stored, since it can be made again.
create or replace function layover.plain_answer(turn integer, status text) returns json
language sql stable as $$
  select case
    when layover.is_over(status)
    then json_build_object('outcome', 'finished', 'turn', turn, 'status', status, 'isReady', false)
    else json_build_object('outcome', 'finished', 'turn', turn, 'status', 'parked', 'isReady', true)
  end
$$;

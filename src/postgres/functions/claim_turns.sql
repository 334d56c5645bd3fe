-- One claim for a set of turns, of runs and of branches. Each answers with an outcome of its own.
create or replace function layover.claim_turns(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_answers json[] := '{}';
  v_item    record;
begin
  perform layover.refuse_blind_isolation();
  if not layover.check_environment(p) then
    return json_build_object('now', layover.to_ms(layover.now()), 'turns', (
      select json_agg(json_build_object('outcome', 'wrong_environment')) from jsonb_array_elements(p->'turns')));
  end if;
  for v_item in
    select t.turn, t.place from layover.in_lock_order(p->'turns') as t
  loop
    v_answers[v_item.place] := case when v_item.turn ? 'path'
      then layover.claim_branch(p, v_item.turn) else layover.claim_run(p, v_item.turn) end;
  end loop;
  perform layover.refuse_too_late(p);
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

-- One finish for a set of turns. Each answers with an outcome of its own; if one raises, the set is done again item by
-- item, so that one bad item never fails the others.
create or replace function layover.finish_turns(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_answers json[] := '{}';
  v_branching text[]; -- runs of which a branch is finished here
  v_item    record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  if jsonb_array_length(p->'turns') = 1 then
    v_answers[1] := layover.finish_turn(p, p->'turns'->0);
  else
    v_branching := array(select t.turn->>'runId' from jsonb_array_elements(p->'turns') as t (turn) where t.turn ? 'path');
    begin
      for v_item in select t.turn, t.place from layover.in_lock_order(p->'turns') as t loop
        if v_item.turn ? 'released' and v_item.turn->>'runId' = any (v_branching) then
          perform layover.lock_run((v_item.turn->>'runId')::uuid);
        end if;
        v_answers[v_item.place] := layover.finish_turn(p, v_item.turn);
      end loop;
    exception when data_exception or integrity_constraint_violation or raise_exception or program_limit_exceeded then
      for v_item in select t.turn, t.place from layover.in_lock_order(p->'turns') as t loop
        if v_item.turn ? 'released' and v_item.turn->>'runId' = any (v_branching) then
          perform layover.lock_run((v_item.turn->>'runId')::uuid);
        end if;
        begin
          v_answers[v_item.place] := layover.finish_turn(p, v_item.turn);
        exception when data_exception or integrity_constraint_violation or raise_exception or program_limit_exceeded then
          v_answers[v_item.place] := json_build_object('outcome', 'raised', 'sqlState', sqlstate, 'message', sqlerrm);
        end;
      end loop;
    end;
  end if;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

-- One claim for a set of turns, of runs and of branches. Each answers with an outcome of its own.
--
-- On the path of every step a statement or an expression of PL/pgSQL costs 2 to 10 µs a call: here and in what it calls
-- they are few.
create or replace function layover.claim_turns(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_answers json[] := '{}';
  v_branching text[]; -- runs of which a branch is claimed here
  v_item    record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  if jsonb_array_length(p->'turns') = 1 then
    v_answers[1] := layover.claim_turn(p, p->'turns'->0);
  else
    v_branching := array(select t.turn->>'runId' from jsonb_array_elements(p->'turns') as t (turn) where t.turn ? 'path');
    for v_item in select t.turn, t.place from layover.in_lock_order(p->'turns') as t loop
      if not v_item.turn ? 'path' and v_item.turn->>'runId' = any (v_branching) and exists (select from layover.pending b
        where b.run_id = (v_item.turn->>'runId')::uuid and b.is_released)
      then -- whose leases may be over, and are voided
        perform layover.lock_run((v_item.turn->>'runId')::uuid);
      end if;
      v_answers[v_item.place] := layover.claim_turn(p, v_item.turn);
    end loop;
  end if;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

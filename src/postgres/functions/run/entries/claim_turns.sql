-- Claims a set of turns, of runs and of branches. Each gets an answer of its own.
--
-- The answers stay within the caller's budget of bytes (`budgetBytes`): a turn that does not fit is not claimed, and answers
-- `later`. A turn that must go alone comes in a call of its own, since it locks its run: other claims of branches read the run without
-- a lock.
create or replace function layover.claim_turns(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_answers json[] := '{}';
  v_branching text[]; -- runs with a branch in this call
  v_part    record;
  v_item    record;
  v_turn    jsonb;
  v_fitting integer;
  v_left    integer := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  if jsonb_array_length(p->'turns') = 1 then
    v_answers[1] := layover.claim_turn(p, p->'turns'->0);
  else
    if p ? 'budgetBytes' then
      v_fitting := layover.count_fitting(p);
      v_left := jsonb_array_length(p->'turns') - v_fitting;
      if v_left > 0 then
        p := jsonb_set(p, '{turns}', jsonb_path_query_array(p, format('$.turns[0 to %s]', v_fitting - 1)::jsonpath));
      end if;
    end if;
    v_branching := array(select i.turn->>'runId' from jsonb_array_elements(p->'turns') as i (turn) where i.turn ? 'path');
    for v_try in 1 .. 2 loop
      begin
        v_answers := '{}';
        for v_part in select s.set, s.items, s.places from layover.in_stretches(p->'turns', v_try = 1) as s loop
          if v_part.set = 'runs' then
            for v_item in select i.place, i.answer from layover.claim_runs(p, v_part.items) as i loop
              v_answers[v_part.places[v_item.place]] := v_item.answer;
            end loop;
            continue; -- claim_runs answers all of them
          elsif v_part.set is not null then
            for v_item in select i.place, i.answer from layover.claim_branches(p, v_part.items) as i loop
              v_answers[v_part.places[v_item.place]] := v_item.answer;
            end loop;
          end if;
          for v_number in 1 .. cardinality(v_part.items) loop
            continue when v_answers[v_part.places[v_number]] is not null;
            v_turn := v_part.items[v_number];
            if not v_turn ? 'path' and v_turn->>'runId' = any (v_branching) and exists (select from layover.pending b
              where b.run_id = (v_turn->>'runId')::uuid and b.is_released)
            then -- refresh_pending may delete it
              perform layover.lock_run((v_turn->>'runId')::uuid);
            end if;
            v_answers[v_part.places[v_number]] := layover.claim_turn(p, v_turn);
          end loop;
        end loop;
        exit;
      exception when raise_exception then
        if v_try = 2 then
          raise;
        end if;
      end;
    end loop;
  end if;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(
    v_answers || array_fill(json_build_object('outcome', 'later'), array[v_left])));
end $$;

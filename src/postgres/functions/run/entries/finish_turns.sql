-- Finishes a set of turns. Each gets an answer of its own.
--
-- If one of them raises, for whatever reason (also a full disk), the set is done again item by item, so that one bad item does not
-- fail the others. Only a deadlock fails the whole call: the caller sends it again at once.
create or replace function layover.finish_turns(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_answers json[] := '{}';
  v_branching text[]; -- runs with a branch in this call
  v_part    record;
  v_item    record;
  v_turn    jsonb;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  if jsonb_array_length(p->'turns') = 1 then
    v_answers[1] := layover.finish_turn(p, p->'turns'->0);
  else
    v_branching := array(select i.turn->>'runId' from jsonb_array_elements(p->'turns') as i (turn) where i.turn ? 'path');
    for v_try in 1 .. 2 loop
      begin
        v_answers := '{}';
        for v_part in select s.set, s.items, s.places from layover.in_stretches(p->'turns', v_try = 1) as s loop
          if v_part.set = 'runs' then
            for v_item in select i.place, i.answer from layover.finish_runs(p, v_part.items) as i loop
              v_answers[v_part.places[v_item.place]] := v_item.answer;
            end loop;
            continue; -- finish_runs answers all of them
          elsif v_part.set is not null then
            for v_item in select i.place, i.answer from layover.finish_branches(p, v_part.items) as i loop
              v_answers[v_part.places[v_item.place]] := v_item.answer;
            end loop;
          end if;
          for v_number in 1 .. cardinality(v_part.items) loop
            continue when v_answers[v_part.places[v_number]] is not null;
            v_turn := v_part.items[v_number];
            if v_turn ? 'released' and v_turn->>'runId' = any (v_branching) then
              perform layover.lock_run((v_turn->>'runId')::uuid);
            end if;
            if v_try = 1 then
              v_answers[v_part.places[v_number]] := layover.finish_turn(p, v_turn);
              continue;
            end if;
            begin
              v_answers[v_part.places[v_number]] := layover.finish_turn(p, v_turn);
            exception when others then
              if sqlstate like '40%' then
                raise;
              end if;
              v_answers[v_part.places[v_number]] := json_build_object('outcome', 'raised', 'sqlState', sqlstate,
                'message', sqlerrm);
            end;
          end loop;
        end loop;
        exit;
      exception when others then
        if v_try = 2 or sqlstate like '40%' then
          raise;
        end if;
      end;
    end loop;
  end if;
  if layover.is_wrongly_armed(p) then
    perform layover.refuse_wrongly_armed(p);
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

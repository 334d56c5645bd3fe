-- Claims or finishes (`is_finish`) a set of turns, in stretches (in_stretches). Answers one answer for each, in their order.
--
-- If a set raises, the transaction goes back to where it began, and all is done again item by item. A finish that then raises answers
-- that itself. A deadlock fails the whole call, and so does a claim that has waited for a lock in vain. In the second try each finish waits for
-- a lock for 100 ms at most, and all of them for 5 s, so that the answer comes while its caller waits.
create or replace function layover.claim_or_finish(p jsonb, is_finish boolean) returns json[]
language plpgsql volatile as $$
declare
  v_branching constant text[] := array( -- runs with a branch in this call
    select i.turn->>'runId' from jsonb_array_elements(p->'turns') as i (turn) where i.turn ? 'path');
  v_runs constant uuid[] := array(select (i.turn->>'runId')::uuid from jsonb_array_elements(p->'turns') as i (turn));
  v_leaves  constant boolean := is_finish and layover.leaves_others(p->'turns');
  v_answers json[];
  v_part    record;
  v_item    record;
  v_turn    jsonb;
begin
  if is_finish and (p->'turns' @? '$[*].children[*].id' or exists (
    select from layover.run_state t where t.run_id = any (v_runs)
       and (v_leaves and t.has_parent or t.children > 0 and (v_leaves or layover.has_left_child(t.run_id)))))
  then -- a finish may lock runs, and ids, that come after those of the finishes that follow it
    perform layover.lock_steady_families(v_runs);
    perform layover.lock_ids(p->>'namespace', jsonb_path_query_array(p->'turns', '$[*].children[*]'));
  end if;
  for v_try in 1 .. 2 loop
    begin
      v_answers := '{}';
      for v_part in select s.set, s.items, s.places from layover.in_stretches(p->'turns', v_try = 1) as s loop
        if v_part.set is not null then
          for v_item in
            select i.place, i.answer from layover.claim_or_finish_set(p, v_part.items, v_part.set = 'runs', is_finish) as i
          loop
            v_answers[v_part.places[v_item.place]] := v_item.answer;
          end loop;
        end if;
        for v_number in 1 .. cardinality(v_part.items) loop
          v_turn := v_part.items[v_number];
          continue when v_answers[v_part.places[v_number]] is not null;
          if v_turn->>'runId' = any (v_branching) and (is_finish and v_turn ? 'released'
            or not is_finish and not v_turn ? 'path' and exists (select from layover.pending b
              where b.run_id = (v_turn->>'runId')::uuid and b.is_released))
          then -- it deletes losers of a race, and branches of the same run come after it
            perform layover.lock_run((v_turn->>'runId')::uuid);
          end if;
          if not is_finish then
            v_answers[v_part.places[v_number]] := layover.claim_turn(p, v_turn);
          elsif v_try = 1 then
            v_answers[v_part.places[v_number]] := layover.finish_turn(p, v_turn);
          else
            begin
              v_answers[v_part.places[v_number]] := layover.finish_turn(p, v_turn);
            exception when others then
              if sqlstate like '40%' then
                raise;
              end if;
              v_answers[v_part.places[v_number]] := json_build_object('outcome', 'raised', 'sqlState', sqlstate,
                'message', sqlerrm);
            end;
          end if;
        end loop;
      end loop;
      return v_answers;
    exception when others then
      if v_try = 2 or sqlstate like '40%' or sqlstate = '55P03' and not is_finish then
        raise;
      elsif is_finish then
        perform set_config('lock_timeout', least(100, 5000 / jsonb_array_length(p->'turns'))::text, true);
      end if;
    end;
  end loop;
end $$;

-- Finishes one turn, of a run or of a branch. If a claim comes along and the run is ready again, it is claimed as its next turn.
create or replace function layover.finish_turn(p jsonb, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_answer   json;
  v_claiming json;
begin
  if f ? 'path' then
    return layover.finish_branch(p->>'namespace',
      case when f ? 'announces' then layover.accept_announcement(p->>'namespace', f) else f end);
  end if;
  if layover.is_one_step(f) then
    v_answer := layover.finish_step(p, f);
    if v_answer is not null then
      return v_answer;
    end if;
  end if;
  v_answer := layover.finish_run(p, f);
  if not f ? 'claim' or v_answer->>'outcome' <> 'finished' or not (v_answer->>'isReady')::boolean then
    return v_answer;
  elsif not f ? 'ending' or exists (select from layover.run_state t -- otherwise the process knows a record that was not kept
    where t.run_id = (f->>'runId')::uuid and t.ending_position is not null)
  then
    v_claiming := layover.claiming_answer((v_answer->>'turn')::integer, layover.claim_turn(p, f->'claim'));
    if v_answer->'others' is not null then
      return (v_claiming::jsonb || jsonb_build_object('branches', v_answer->'branches', 'hasStarted', v_answer->'hasStarted',
        'others', v_answer->'others'))::json;
    end if;
    return v_claiming;
  end if;
  return v_answer;
end $$;

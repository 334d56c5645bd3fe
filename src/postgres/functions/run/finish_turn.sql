-- Finishes one turn, of a run or of a branch. If a claim comes along and the run is ready again, it is claimed as its next turn.
create or replace function layover.finish_turn(p jsonb, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_answer json;
begin
  if f ? 'path' then
    return layover.finish_branch(p->>'namespace',
      case when f ? 'announces' then layover.accept_announcement(p->>'namespace', f) else f end);
  end if;
  v_answer := layover.finish_run(p, f);
  if f ? 'claim' and v_answer->'claim' is null and v_answer->>'outcome' = 'finished'
    and (v_answer->>'isReady')::boolean
  then
    return layover.claiming_answer((v_answer->>'turn')::integer, layover.claim_turn(p, f->'claim'));
  end if;
  return v_answer;
end $$;

-- Claims one turn, of a run or of a branch.
create or replace function layover.claim_turn(p jsonb, c jsonb) returns json
language plpgsql volatile as $$
declare
  v_answer json;
begin
  if c ? 'path' then
    return layover.claim_branch(p, c);
  end if;
  select i.answer into v_answer from layover.claim_runs(p, array[c]) as i;
  if found then
    return v_answer;
  end if;
  return layover.reclaim_run(p, c);
end $$;

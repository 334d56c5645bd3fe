-- Claims one turn, of a run or of a branch.
create or replace function layover.claim_turn(p jsonb, c jsonb) returns json
language sql volatile as $$
  select case when c ? 'path' then layover.claim_branch(p, c) else layover.claim_run(p, c) end
$$;

-- Whether the finish of a run's turn is what most are: the record of one step, and the claim of the next turn. A key that is not named here
-- asks for more.
create or replace function layover.is_one_step(f jsonb) returns boolean
language sql immutable as $$
  select f->>'next' = 'ready' and f ? 'claim' and jsonb_array_length(f->'records') = 1 and f->'records'->0->>'kind' = 'step'
    and f - '{runId,token,position,next,records,bytes,says,armed,claim}'::text[] = '{}'
$$;

-- Answers the items of a call in the one order in which locks are taken: by run id, and within a run first the run, then its pending
-- rows.
create or replace function layover.in_lock_order(turns jsonb) returns table (turn jsonb, place bigint)
language sql immutable as $$
  select i.turn, i.place from jsonb_array_elements(turns) with ordinality as i (turn, place)
   order by (i.turn->>'runId')::uuid, i.turn->>'path' nulls first, (i.turn->>'occurrence')::integer, i.place
$$;

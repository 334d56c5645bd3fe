-- The items of a call in the one order in which locks are taken: by run id, and within a run first the run, then its
-- pending rows.
create or replace function layover.in_lock_order(turns jsonb) returns table (turn jsonb, place bigint)
language sql immutable as $$
  select t.turn, t.place from jsonb_array_elements(turns) with ordinality as t (turn, place)
   order by (t.turn->>'runId')::uuid, t.turn->>'path' nulls first, (t.turn->>'occurrence')::integer, t.place
$$;

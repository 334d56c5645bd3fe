-- Whether a claim asks for a turn in a larger group than it may go in. Who names no size goes with anybody: beside another
-- group in its process too. `alone`: the last release names a group of one so.
create or replace function layover.is_group_too_large(p jsonb, c jsonb, most integer) returns boolean
language sql stable as $$
  select coalesce(most < greatest(jsonb_array_length(p->'turns'),
    coalesce((c->>'groupSize')::integer, case when (c->>'alone')::boolean then 1 else 2147483647 end)), false)
$$;

-- Whether a claim asks for a turn in a larger group than the turn may go in. The group is what comes in this call, or `groupSize` if
-- that is more: the process may have other turns at work. A call of the last release says `alone` for a group of one.
create or replace function layover.is_group_too_large(p jsonb, c jsonb, most integer) returns boolean
language sql stable as $$
  select coalesce(most < greatest(jsonb_array_length(p->'turns'),
    coalesce((c->>'groupSize')::integer, case when (c->>'alone')::boolean then 1 else 2147483647 end)), false)
$$;

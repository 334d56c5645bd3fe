-- Answers the armed instant at which the scheduler looks next: the last one that is not after the need. If all are after it, the first
-- one: a dispatch serves the need then, and the scheduler looks in case the dispatch is lost. A call from bare SQL arms nothing: then the
-- need itself is kept, for the next tick that happens.
--
-- A step arms one instant. This is one expression, so that it is inlined.
create or replace function layover.pick_due(armed jsonb, need timestamptz) returns timestamptz
language sql stable as $$
  select case
    when armed is null or need is null then need
    when jsonb_array_length(armed) = 1 then layover.from_ms((armed->>0)::bigint)
    else layover.pick_due_of_several(armed, need)
  end
$$;

-- The armed instant at which the scheduler looks next: the last one that is not after the need, else the first.
-- May be early, never late. Bare SQL arms nothing; its need is kept for the next tick that happens.
create or replace function layover.pick_due(armed jsonb, need timestamptz) returns timestamptz
language sql immutable as $$
  select case
    when need is null or armed is null then need
    else layover.from_ms(coalesce(
      max(a.ms::bigint) filter (where a.ms::bigint <= layover.to_ms(need)), min(a.ms::bigint)))
    end
  from jsonb_array_elements_text(coalesce(armed, '[]')) as a (ms)
$$;

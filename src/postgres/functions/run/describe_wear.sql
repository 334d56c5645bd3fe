-- Answers why a turn that goes alone is given up; null: it goes on. A turn that began and did not end may be what ends its
-- processes. A claim without a beginning says less, since its answer may have been lost. So many more claims are allowed.
create or replace function layover.describe_wear(p jsonb, claims integer, beginnings integer, what text) returns text
language sql stable as $$
  select case
    when beginnings > (p->>'maxBeginnings')::integer
      then format('%s invocations in a row began %s and never finished it', beginnings, what)
    when claims > (p->>'maxClaims')::integer
      then format('%s invocations in a row claimed %s and never finished it', claims, what) end
$$;

-- Why what was claimed alone so often is given up; null: it is not. What was begun may be what ends its processes. Who
-- claimed it and did not begin may have got no answer, which says less: so that takes many more.
create or replace function layover.describe_wear(p jsonb, claims integer, beginnings integer, what text) returns text
language sql stable as $$
  select case
    when beginnings > (p->>'maxBeginnings')::integer
      then format('%s invocations in a row began %s and never finished it', beginnings, what)
    when claims > (p->>'maxClaims')::integer
      then format('%s invocations in a row claimed %s and never finished it', claims, what) end
$$;

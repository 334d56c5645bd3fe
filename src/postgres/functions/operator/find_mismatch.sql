-- Answers in what the caller's database is not the one that the namespace belongs to: 'database', 'address' or 'environment'. Null:
-- all fits, or the namespace belongs to nobody yet.
--
-- A caller that names no address, or no environment, is not asked for it. Such callers are psql and code of an earlier release.
create or replace function layover.find_mismatch(p jsonb) returns text
language plpgsql volatile as $$
begin
  return (
    select case
        when e.identity <> layover.identity() then 'database'
        when p->>'endpoint' <> e.endpoint and p->>'endpoint' <> all (e.other_endpoints) then 'address'
        when p->>'environment' <> e.name then 'environment'
      end
      from layover.environment e where e.namespace = coalesce(p->>'namespace', 'default'));
end $$;

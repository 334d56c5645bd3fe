-- What tells that the caller's database is not the one that its namespace belongs to: 'database', 'address' or, where the
-- caller names its own, 'environment'. Null where all fit, or nobody has written down anything yet.
--
-- Who names no address is not asked for one: psql, and the code of a release before.
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

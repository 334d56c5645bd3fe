-- Whether this deployment may carry out runs in this database. The first one to ask writes its name down.
-- A copied database has another address than the one written down: nothing runs in it until someone adopts it.
create or replace function layover.is_our_environment(p jsonb) returns boolean
language plpgsql volatile as $$
declare
  v_is_ours boolean;
begin
  select e.name = p->>'environment' and e.endpoint = p->>'endpoint' into v_is_ours
    from layover.environment e where e.namespace = p->>'namespace';
  if not found then
    insert into layover.environment (namespace, name, endpoint, adopted_at)
      values (p->>'namespace', p->>'environment', p->>'endpoint', layover.now())
      on conflict (namespace) do nothing;
    select e.name = p->>'environment' and e.endpoint = p->>'endpoint' into v_is_ours
      from layover.environment e where e.namespace = p->>'namespace';
  end if;
  return v_is_ours;
end $$;

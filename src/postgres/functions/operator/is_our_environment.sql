-- Whether this deployment may carry out runs in this database. The first one to ask writes down whose it is.
-- A copy is another database, or has another address: nothing runs in it until someone adopts it.
create or replace function layover.is_our_environment(p jsonb) returns boolean
language plpgsql volatile as $$
declare
  v_identity text;
begin
  select e.identity into v_identity from layover.environment e where e.namespace = p->>'namespace';
  if not found then
    insert into layover.environment (namespace, name, endpoint, identity, adopted_at)
      values (p->>'namespace', p->>'environment', p->>'endpoint', layover.identity(), layover.now())
      on conflict (namespace) do nothing;
  end if;
  if layover.find_mismatch(p) is not null then
    return false;
  end if;
  if v_identity is null then -- of a release before, and asked for at the address that it wrote down
    update layover.environment e set identity = layover.identity()
     where e.namespace = p->>'namespace' and e.identity is null;
  end if;
  return true;
end $$;

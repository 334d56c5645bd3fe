-- Takes the namespace for the caller's environment if nobody has it yet. (No lease is claimed here.) Answers whether the caller may carry
-- out runs in this database.
--
-- A copy is another database or has another address. Nothing runs in it until somebody adopts it.
create or replace function layover.claim_environment(p jsonb) returns boolean
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
  if v_identity is null then -- the row is of an earlier release, and its address fits
    update layover.environment e set identity = layover.identity()
     where e.namespace = p->>'namespace' and e.identity is null;
  end if;
  return true;
end $$;

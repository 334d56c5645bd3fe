-- Someone decided: runs in this database are to be carried out by the named environment, at this address. Its first tick
-- looks at everything: what was dispatched meanwhile was refused, and so is looked at less and less often.
create or replace function layover.adopt_environment(p jsonb) returns json
language plpgsql volatile as $$
begin
  insert into layover.environment (namespace, name, endpoint, adopted_at)
    values (p->>'namespace', p->>'environment', p->>'endpoint', layover.now())
    on conflict (namespace) do update
      set name = excluded.name, endpoint = excluded.endpoint, adopted_at = excluded.adopted_at,
        deployment = null, tried_through = null;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('outcome', 'adopted');
end $$;

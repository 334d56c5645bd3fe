-- Someone decided: runs in this database are to be carried out by the named environment, at this address.
create or replace function layover.adopt_environment(p jsonb) returns json
language plpgsql volatile as $$
begin
  insert into layover.environment (namespace, name, endpoint, adopted_at)
    values (p->>'namespace', p->>'environment', p->>'endpoint', layover.now())
    on conflict (namespace) do update
      set name = excluded.name, endpoint = excluded.endpoint, adopted_at = excluded.adopted_at;
  return json_build_object('outcome', 'adopted');
end $$;

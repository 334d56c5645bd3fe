-- Gives the namespace to the named environment, in this database and at this address. `layover adopt` calls it. The first tick
-- then looks at all runs: their dispatches were refused until now, so the scheduler looked at them less and less often.
--
-- With `isAddress` it adds one more address of the same database, for the same environment.
create or replace function layover.adopt_environment(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_outcome text := 'adopted';
begin
  if (p->>'isAddress')::boolean then
    update layover.environment e
       set other_endpoints = array_append(array_remove(e.other_endpoints, p->>'endpoint'), p->>'endpoint'),
           deployment = null, tried_through = null
     where e.namespace = p->>'namespace' and e.name = p->>'environment' and e.identity = layover.identity();
    if not found then
      v_outcome := 'another_database';
    end if;
  else
    insert into layover.environment (namespace, name, endpoint, identity, adopted_at)
      values (p->>'namespace', p->>'environment', p->>'endpoint', layover.identity(), layover.now())
      on conflict (namespace) do update
        set name = excluded.name, endpoint = excluded.endpoint, other_endpoints = '{}', identity = excluded.identity,
          adopted_at = excluded.adopted_at, deployment = null, tried_through = null;
    -- These rows may be of the database that this one was copied from. The processes of this one list themselves again.
    delete from layover.process c where c.namespace = p->>'namespace';
  end if;
  if v_outcome = 'adopted' then -- the rows of a copy name deployments of the original
    delete from layover.deployment d where d.namespace = p->>'namespace';
  end if;
  perform layover.check_time(p);
  return json_build_object('outcome', v_outcome);
end $$;

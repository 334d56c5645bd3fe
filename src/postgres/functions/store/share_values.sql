-- Has a run hold what another run holds, since it takes over its history: a copy of that run. The caller has locked
-- the other run. So what is held is held by somebody at each moment.
create or replace function layover.share_values(of_run uuid, with_run uuid) returns void
language plpgsql volatile as $$
begin
  insert into layover.stored_value (namespace, key, run_id, bytes)
    select o.namespace, o.key, with_run, o.bytes from layover.stored_value o where o.run_id = of_run order by o.key
    on conflict do nothing;
end $$;

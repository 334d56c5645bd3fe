-- Has a run hold the one value that another run holds and hands to it: the end of a child. A value that no store keeps is held by nobody.
create or replace function layover.share_value(of_run uuid, with_run uuid, value text) returns void
language plpgsql volatile as $$
begin
  insert into layover.stored_value (namespace, key, run_id, bytes)
    select o.namespace, o.key, with_run, o.bytes from layover.stored_value o
     where o.run_id = of_run and o.key = substring(value from '^2stored\.\d+\.[0-9a-f]{64}\.(.*)$')
    on conflict do nothing;
end $$;

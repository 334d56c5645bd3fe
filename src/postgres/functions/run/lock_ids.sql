-- Locks the ids that users have given to runs which are about to be started, all that a call has, in one order. Two calls that start the
-- same ids in another order would otherwise wait for each other. A call locks its rows first and the ids last.
--
-- Ids share 32 locks, since Postgres has room for some thousands in all.
create or replace function layover.lock_ids(namespace text, children jsonb) returns void
language plpgsql volatile as $$
declare
  v_lock integer;
begin
  for v_lock in
    select distinct pg_catalog.hashtext(concat_ws(' ', namespace, c->>'workflow', c->>'id')) & 31 as lock
      from jsonb_array_elements(children) as c where c->>'id' is not null order by lock
  loop
    perform pg_catalog.pg_advisory_xact_lock(7812090, v_lock);
  end loop;
end $$;

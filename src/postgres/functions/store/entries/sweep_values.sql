-- Looks which stored values no run holds any more, and answers their keys, for the caller to delete them from the store. It looks at a bounded
-- number, and looks again at those ten minutes later, unless the caller has called forget_values by then.
--
-- A value that another run holds as well (a fork, a parent) is left to that run. `isMore`: another call would find more at once. `nextAt`: when
-- there is something to look at again; null: never. If two sweep at once, the second one leaves it to the first: otherwise each could leave
-- a value to a row that the other one deletes.
create or replace function layover.sweep_values(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now   constant timestamptz := layover.now();
  v_limit constant integer := (p->>'limit')::integer;
  v_keys  jsonb := '[]';
  v_count integer := 0;
  v       record;
begin
  perform layover.check_isolation();
  perform layover.check_environment(p);
  if not pg_catalog.pg_try_advisory_xact_lock(7812093, pg_catalog.hashtext(p->>'namespace')) then
    return json_build_object('keys', v_keys, 'isMore', false, 'nextAt', null);
  end if;
  for v in
    select o.run_id, o.key, exists (select from layover.run r where r.id = o.run_id) as is_held
      from layover.stored_value o
     where o.namespace = p->>'namespace' and o.look_at <= v_now
     order by o.look_at limit v_limit for update skip locked
  loop
    v_count := v_count + 1;
    if v.is_held then
      update layover.stored_value o set look_at = null where o.run_id = v.run_id and o.key = v.key;
    elsif exists (select from layover.stored_value u where u.key = v.key and u.run_id <> v.run_id) then
      delete from layover.stored_value o where o.run_id = v.run_id and o.key = v.key;
    else
      update layover.stored_value o set look_at = v_now + interval '10 minutes' where o.run_id = v.run_id and o.key = v.key;
      v_keys := v_keys || to_jsonb(v.key);
    end if;
  end loop;
  perform layover.check_time(p);
  return json_build_object('keys', v_keys, 'isMore', v_count = v_limit, 'nextAt', (
    select layover.to_ms(min(o.look_at)) from layover.stored_value o where o.namespace = p->>'namespace' and o.look_at is not null));
end $$;

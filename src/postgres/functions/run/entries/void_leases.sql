-- Ends all leases now. Only for a database with one process as its only user, when that process begins: each holder of a lease is dead.
create or replace function layover.void_leases(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
  v_run uuid;
begin
  for v_run in
    select t.run_id from layover.run_state t
     where t.namespace = p->>'namespace' and (t.leased_until > v_now or (t.has_pending and exists (
       select from layover.pending b where b.run_id = t.run_id and b.leased_until > v_now)))
     order by t.run_id
  loop
    perform layover.lock_run(v_run);
    update layover.run_state t set leased_until = v_now where t.run_id = v_run and t.leased_until > v_now;
    update layover.pending b set leased_until = v_now where b.run_id = v_run and b.leased_until > v_now;
  end loop;
  perform layover.check_time(p);
  return json_build_object('outcome', 'voided');
end $$;

-- Ends every lease now. Only for a database of which one process is the only user, when that process begins: whoever
-- held a lease is dead.
create or replace function layover.void_leases(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  update layover.run_state t set leased_until = v_now
   where t.namespace = p->>'namespace' and t.status = 'running' and t.leased_until > v_now;
  update layover.pending b set leased_until = v_now
    from layover.run_state t
   where t.run_id = b.run_id and t.namespace = p->>'namespace' and b.leased_until > v_now;
  return json_build_object('outcome', 'voided');
end $$;

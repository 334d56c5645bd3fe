-- parked -> running, when the run is ready and its turn is claimed. All other claims go to reclaim_run.
--
-- It answers what the turn needs: the history that its process does not hold, and the signals and answers that it may take. One
-- statement: a claim costs about 180 µs.
create or replace function layover.claim_run(p jsonb, c jsonb) returns json
language plpgsql volatile as $$
declare
  v_answer json;
begin
  update layover.run_state as t
     set status = 'running', token = (c->>'token')::uuid,
         leased_until = layover.lease_end(p, layover.now()),
         dispatches = 0
    from layover.run r
   where t.run_id = (c->>'runId')::uuid and r.id = (c->>'runId')::uuid
     and t.namespace = p->>'namespace' and layover.is_carried_here(p, r.workflow, r.version)
     and exists (select from layover.environment e
       where e.namespace = p->>'namespace' and e.name = p->>'environment'
         and p->>'endpoint' = any (e.other_endpoints || e.endpoint) and e.identity = layover.identity())
     and t.status = 'parked' and t.turn = (c->>'turn')::integer and t.ready_at <= layover.now()
     and t.lost < 2 and layover.may_run(t, layover.now())
   returning case
       when (c->'have'->>'position')::integer = t.last_position and (c->'have'->>'epoch')::integer = t.epoch
         and not t.has_pending and not t.has_mail
       then layover.describe_held(t)
       else layover.describe_claimed(t, c->'have', (p->>'budgetBytes')::bigint) end
     into v_answer;
  if found then
    return v_answer;
  end if;
  return layover.reclaim_run(p, c);
end $$;

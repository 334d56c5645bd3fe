-- parked -> running, when a run is ready and its turn is claimed: one run, or several that have no pending rows. Of several it claims
-- all, or it raises. A single run that it does not claim has no answer here: reclaim_run claims it or says why not.
--
-- It answers what each turn needs: the history that its process does not hold, and the signals and answers that it may take.
--
-- It finds each run by its key, in the order of keys. The settings leave only plans that visit the rows so, and each row is locked when
-- it is visited. One plan serves all calls: planning anew takes 0.6 ms.
create or replace function layover.claim_runs(p jsonb, turns jsonb[]) returns table (place bigint, answer json)
language plpgsql volatile set plan_cache_mode = force_generic_plan
set enable_indexscan = on set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_count integer;
begin
  return query
    with item as materialized (
      select i.number, (i.turn->>'runId')::uuid as run_id, (i.turn->>'token')::uuid as token,
          (i.turn->>'turn')::integer as turn, i.turn->'have' as have
        from unnest(turns) with ordinality as i (turn, number)
    ), moved as (
      update layover.run_state as t
         set status = 'running', token = i.token,
             leased_until = layover.lease_end(p, layover.now()),
             dispatches = 0
        from item i join layover.run r on r.id = i.run_id
       where t.run_id = i.run_id and t.namespace = p->>'namespace' and layover.is_carried_here(p, r.workflow, r.version)
         and exists (select from layover.environment e
           where e.namespace = p->>'namespace' and e.name = p->>'environment'
             and p->>'endpoint' = any (e.other_endpoints || e.endpoint) and e.identity = layover.identity())
         and t.status = 'parked' and t.turn = i.turn and t.ready_at <= layover.now() and layover.may_run(t, layover.now())
         and t.lost < 2 and layover.is_understood(p, t) and (cardinality(turns) = 1 or not t.has_pending)
         and layover.is_due_late(p, t.dispatches, t.due_at) is not true
       returning i.number, case
           when (i.have->>'position')::integer = t.last_position and (i.have->>'epoch')::integer = t.epoch
             and (i.have->>'version')::integer = r.version
             and not t.has_pending and not t.has_mail and t.begun is null and t.ends_as is null
           then layover.describe_held(t)
           else layover.describe_claimed(t, i.have, (p->>'budgetBytes')::bigint) end as answer
    )
    select m.number, m.answer from moved m;
  get diagnostics v_count = row_count;
  if v_count < cardinality(turns) and cardinality(turns) > 1 then
    raise exception 'a run has moved since it was looked at';
  end if;
end $$;

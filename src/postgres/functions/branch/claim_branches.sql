-- Branches of one run: ready -> leased. It does what claim_branch does for a branch that is ready. A branch that it leaves out has no
-- answer here: its row is locked, and claim_branch claims it or says why not.
--
-- It finds each row by its key, and then by its place in the table (ctid), as finish_branches does. One plan serves all calls:
-- planning anew takes 0.4 ms.
create or replace function layover.claim_branches(p jsonb, turns jsonb[]) returns table (place bigint, answer json)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_indexscan = on set enable_seqscan = off as $$
declare
  v_run constant uuid := (turns[1]->>'runId')::uuid;
  v_now timestamptz;
  s     record;
begin
  if not layover.claim_environment(p) then
    return;
  end if;
  perform from unnest(turns) with ordinality as i (turn, number) cross join lateral (
    select from layover.pending b
     where b.run_id = v_run and b.path = i.turn->>'path' and b.occurrence = (i.turn->>'occurrence')::integer
       and b.kind = 'branch' and b.position is null
       for update) as b;
  v_now := layover.now();
  select r.version, t.epoch, t.last_record_at, t.handed_position, t.timeout_at, t.due_at,
      layover.page_budget(t.history_bytes, t.last_position, (p->>'budgetBytes')::bigint) as budget
    into s
    from layover.run_state t join layover.run r on r.id = t.run_id
   where t.run_id = v_run and t.namespace = p->>'namespace' and t.ended_at is null and layover.may_run(t, v_now)
     and layover.is_carried_here(p, r.workflow, r.version) and layover.is_understood(p, t);
  if not found then
    return;
  end if;
  return query
    with item as materialized (
      select b.ctid, i.number, (i.turn->>'token')::uuid as token,
          case when (i.turn->'have'->>'epoch')::integer = s.epoch
            and (i.turn->'have'->>'position')::integer <= b.demanded_after
            and case when i.turn->'have' ? 'version' then (i.turn->'have'->>'version')::integer = s.version
              else layover.is_of_version(v_run, i.turn->'have') end
            then (i.turn->'have'->>'position')::integer end as have
        from unnest(turns) with ordinality as i (turn, number) cross join lateral (
          select b.ctid, b.demanded_after from layover.pending b
           where b.run_id = v_run and b.path = i.turn->>'path' and b.occurrence = (i.turn->>'occurrence')::integer
             and layover.is_open_branch(b) and b.turn = (i.turn->>'turn')::integer and b.token is null and b.lost < 2
             and b.ready_at <= v_now and layover.is_due_late(p, b.dispatches, s.due_at) is not true
           limit 1) as b
    )
    update layover.pending b
       set token = i.token, leased_until = layover.lease_end(p, v_now), has_begun = true, dispatches = 0
      from item i where b.ctid = i.ctid
     returning i.number, json_build_object('outcome', 'claimed', 'now', layover.to_ms(v_now), 'epoch', s.epoch,
       'turn', b.turn, 'have', i.have, 'position', b.demanded_after, 'handedPosition', s.handed_position,
       'lastRecordAt', layover.to_ms(s.last_record_at), 'timeoutAt', layover.to_ms(s.timeout_at),
       'leasedUntil', layover.to_ms(b.leased_until), 'claims', b.claims, 'beginnings', b.beginnings, 'begun', b.begun,
       'attempts', b.attempts,
       'records', case when b.demanded_after > coalesce(i.have, 0)
         then layover.read_records(v_run, s.epoch, coalesce(i.have, 0), b.demanded_after, s.budget) end,
       'patches', case when b.demanded_after > coalesce(i.have, -1) then layover.read_patches(v_run, s.epoch) end,
       'run', case when i.have is null then case when s.epoch = 0 then layover.read_run(v_run) else layover.read_epoch(v_run, s.epoch) end end);
end $$;

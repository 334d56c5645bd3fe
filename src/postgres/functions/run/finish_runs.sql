-- Runs that go on or end, and do nothing else: running -> parked, running as the next turn, or over. It does what finish_step
-- and finish_run do for one. It finishes all of them, or it raises.
--
-- It finds each run by its key, in the order of keys. The settings leave only plans that visit the rows so, and each row is locked when
-- it is visited. One plan serves all calls: planning anew takes 0.6 ms.
create or replace function layover.finish_runs(p jsonb, turns jsonb[]) returns table (place bigint, answer json)
language plpgsql volatile set plan_cache_mode = force_generic_plan
set enable_indexscan = on set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_now   constant timestamptz := layover.now();
  v_count integer;
begin
  return query
    with item as materialized (
      select i.number, (i.turn->>'runId')::uuid as run_id, (i.turn->>'token')::uuid as token,
          (i.turn->>'position')::integer as position, i.turn->>'next' as next, i.turn->>'value' as value,
          i.turn->'says'->-1->>'value' as status, i.turn->'records' as records, layover.count_of(i.turn->'records') as count,
          coalesce((i.turn->>'bytes')::integer, 0) as bytes, i.turn->'armed' as armed,
          case when i.turn->>'next' = 'ready' then (i.turn->'claim'->>'token')::uuid end as claim_token,
          i.turn->>'next' <> 'ready' as is_over
        from unnest(turns) with ordinality as i (turn, number)
    ), moved as (
      update layover.run_state as t
         set status = case when i.is_over then i.next when i.claim_token is not null then 'running' else 'parked' end,
             turn = t.turn + 1,
             token = i.claim_token,
             leased_until = case when i.claim_token is not null
               then layover.lease_end(p, v_now) end,
             claims = 0, beginnings = 0, lost = 0,
             is_interrupted = t.is_interrupted and i.count = 0 and not i.is_over,
             dispatches = case when i.claim_token is not null then 0 else t.dispatches end,
             last_position = t.last_position + i.count, handed_position = t.last_position + i.count,
             history_bytes = t.history_bytes + i.bytes,
             last_record_at = coalesce(layover.from_ms((i.records->-1->>'at')::bigint), t.last_record_at),
             ready_at = case when not i.is_over then timestamptz 'epoch' end,
             due_at = case when not i.is_over and layover.may_be_due(t)
               then layover.pick_due(i.armed, v_now) end,
             blocked = case when not i.is_over then t.blocked end,
             ended_at = case when i.is_over then v_now end,
             result = case when i.next = 'completed' then i.value end,
             error = case when i.next in ('failed', 'cancelled') then i.value end,
             custom_status = coalesce(i.status, t.custom_status),
             finished_token = t.token, finished_answer = null
        from item i
       where t.run_id = i.run_id and t.namespace = p->>'namespace' and t.token = i.token
         and t.last_position = i.position and not t.has_pending and not t.has_mail
         and (i.claim_token is null or layover.may_run(t, v_now))
         and (not i.is_over or not t.has_parent and layover.ends_in_time(t, i.records))
       returning i.number, i.records, i.position, i.next, t.run_id, t.epoch, t.turn,
         case when t.status = 'running' then layover.describe_held(t) end as claimed
    ), recorded as (
      insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value,
          recorded_at, began_at)
        select m.run_id, m.epoch, m.position + r.number, r.item->>'kind', r.item->>'path',
            (r.item->>'occurrence')::integer, coalesce((r.item->>'attempts')::integer, 1),
            coalesce((r.item->>'isFailure')::boolean, false), r.item->>'value',
            layover.from_ms((r.item->>'at')::bigint), layover.from_ms((r.item->>'beganAt')::bigint)
          from moved m cross join lateral jsonb_array_elements(m.records) with ordinality as r (item, number)
    )
    select m.number, case when m.claimed is null then layover.plain_answer(m.turn, m.next)
        else layover.claiming_answer(m.turn, m.claimed) end
      from moved m;
  get diagnostics v_count = row_count;
  if v_count < cardinality(turns) then
    raise exception 'a run has moved since it was looked at';
  end if;
end $$;

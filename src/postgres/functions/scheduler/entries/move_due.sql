-- The scheduler has looked and armed: the next instant to look, and one more dispatch for what it is about to dispatch.
-- A run that moved since it was listed is left alone. So is one that was woken or claimed since, which has to be looked
-- at earlier than the scheduler knows; the answer counts those, and the same call again with `soonAt`, armed too, moves
-- them there. (Rare; arming it every time would have each tick followed by another one.)
--
-- `skipsLocked`: does not wait for a run that somebody has locked, and names it in `locked`. A user's open transaction that
-- has signalled one run would otherwise hold up all others of the tick.
--
-- `isNew`: a new deployment's dispatches are counted from the beginning. Of a run that the `deployment` has refused they are not
-- counted at all: it is claimed by whichever other one gets them. Where none is left that may, the run is blocked.
create or replace function layover.move_due(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_soon  constant timestamptz := layover.from_ms((p->>'soonAt')::bigint);
  v_is_new constant boolean := coalesce((p->>'isNew')::boolean, false);
  v_now   timestamptz;
  v_need  timestamptz;
  v_moved integer := 0;
  v_left  integer := 0;
  v_is_refused boolean;
  v_locked uuid[] := '{}';
  v_item  record;
  s       record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  for v_item in
    select (m->>'runId')::uuid as run_id, layover.from_ms((m->>'seenDueAt')::bigint) as seen_due_at,
        layover.from_ms((m->>'dueAt')::bigint) as due_at, coalesce((m->>'isDispatched')::boolean, false) as is_dispatched,
        array(select b->>'path' || '#' || (b->>'occurrence') from jsonb_array_elements(m->'branches') as b) as branches
      from jsonb_array_elements(p->'moves') as m order by (m->>'runId')::uuid
  loop
    if p ? 'skipsLocked' then
      perform from layover.run_state t where t.run_id = v_item.run_id for update skip locked;
      if not found then
        v_locked := v_locked || v_item.run_id;
        continue;
      end if;
    end if;
    select t.blocked, t.has_pending, t.status, t.refused_by, coalesce(t.leased_until, t.ready_at) as at into s
      from layover.run_state t
     where t.run_id = v_item.run_id and t.namespace = p->>'namespace' and t.ended_at is null and t.paused_at is null
       and t.due_at is not distinct from v_item.seen_due_at
       for update;
    continue when not found;
    if s.has_pending then
      perform from layover.pending b
        where b.run_id = v_item.run_id and b.path || '#' || b.occurrence = any (v_item.branches)
        order by b.path, b.occurrence for update;
    end if;
    v_now := layover.now();
    v_is_refused := s.refused_by is not null
      and layover.has_refused(s.refused_by, p->>'namespace', p->>'deployment');
    if v_is_refused and s.blocked is null and s.status = 'parked' and not layover.has_taker(v_item.run_id, s.refused_by)
      and not exists (select from layover.pending b where b.run_id = v_item.run_id and b.token is not null)
    then
      update layover.run_state t set blocked = s.refused_by->(p->>'deployment')->>'why', due_at = null
       where t.run_id = v_item.run_id;
      continue;
    end if;
    v_need := case when s.at > v_now or not v_item.is_dispatched then s.at end;
    if s.has_pending then
      select least(v_need, min(coalesce(b.leased_until, b.ready_at))) into v_need
        from layover.pending b
       where b.run_id = v_item.run_id and b.kind = 'branch' and b.position is null and not b.is_queued
         and not b.is_released and (coalesce(b.leased_until, b.ready_at) > v_now
           or b.path || '#' || b.occurrence <> all (v_item.branches));
    end if;
    if s.blocked is null and (v_need < v_item.due_at or v_item.due_at is null and v_need is not null) then
      if v_soon is null then
        v_left := v_left + 1;
        continue;
      end if;
      v_item.due_at := least(v_soon, v_item.due_at);
    end if;
    v_moved := v_moved + 1;
    if s.has_pending then
      update layover.pending b set dispatches = case when v_is_refused then b.dispatches
           else least(case when v_is_new then 0 else b.dispatches end + 1, 100) end
       where b.run_id = v_item.run_id and b.path || '#' || b.occurrence = any (v_item.branches)
         and coalesce(b.leased_until, b.ready_at) <= v_now;
    end if;
    update layover.run_state t
       set due_at = case when s.blocked is null then v_item.due_at end,
           dispatches = case when v_is_refused then t.dispatches else least(case when v_is_new then 0 else t.dispatches end
             + (v_item.is_dispatched and coalesce(s.blocked is not null or s.at <= v_now, false))::integer, 100) end
     where t.run_id = v_item.run_id;
  end loop;
  if layover.is_wrongly_armed(p) then
    perform layover.refuse_wrongly_armed(p);
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'moved', v_moved, 'left', v_left,
    'locked', v_locked);
end $$;

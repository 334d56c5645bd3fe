-- Moves runs to the next instant at which the scheduler must look, and counts one dispatch more for what is about to be dispatched. The
-- scheduler calls it when it has looked and armed.
--
-- A run that moved since it was listed is left alone. So is a run that was woken or claimed since, and must be looked at earlier than the
-- scheduler knows. The answer counts those in `left` (left alone). The scheduler arms `soonAt` and sends the call again, which moves them
-- there. (This is rare. If `soonAt` were armed each time, each tick would cause another one.)
--
-- `skipsLocked`: it does not wait for a run that somebody has locked, and names that run in `locked`. Otherwise a user's open transaction
-- that has signalled one run would hold up all others of the tick. Without it, it waits for a lock for 5 s (see finish_turns).
--
-- A move names the turn of the run that is about to be dispatched, and that of each branch. If the run or the branch has another turn by
-- now, its claim refuses that dispatch. So it counts as not dispatched. (Code of an earlier release does not name the turn of the run.)
--
-- `isNew`: the dispatches of a new deployment are counted from 0. A dispatch of a run that `deployment` has refused is not counted, since
-- another deployment claims it. If no other deployment may, the run is blocked.
--
-- A blocked run that a new deployment dispatches gets a due instant like any other, so that a dispatch that is lost is tried again.
-- It has none when it is blocked again.
create or replace function layover.move_due(p jsonb) returns json
language plpgsql volatile set lock_timeout = '5s' as $$
declare
  v_soon  constant timestamptz := layover.from_ms((p->>'soonAt')::bigint);
  v_is_new constant boolean := coalesce((p->>'isNew')::boolean, false);
  v_now   timestamptz;
  v_need  timestamptz;
  v_moved integer := 0;
  v_left  integer := 0;
  v_is_refused boolean;
  v_locked uuid[] := '{}';
  v_sent  text[];
  v_item  record;
  s       record;
begin
  perform layover.check_isolation();
  for v_item in
    select (m->>'runId')::uuid as run_id, layover.from_ms((m->>'seenDueAt')::bigint) as seen_due_at,
        layover.from_ms((m->>'dueAt')::bigint) as due_at, coalesce((m->>'isDispatched')::boolean, false) as is_dispatched,
        (m->>'turn')::integer as turn,
        m->'branches' as branches
      from jsonb_array_elements(p->'moves') as m order by (m->>'runId')::uuid
  loop
    if p ? 'skipsLocked' then
      perform from layover.run_state t where t.run_id = v_item.run_id for update skip locked;
      if not found then
        v_locked := v_locked || v_item.run_id;
        continue;
      end if;
    end if;
    select t.blocked, t.has_pending, t.status, t.refused_by, coalesce(t.leased_until, t.ready_at) as at,
        v_item.is_dispatched and t.turn = coalesce(v_item.turn, t.turn) as is_dispatched
      into s
      from layover.run_state t
     where t.run_id = v_item.run_id and t.namespace = p->>'namespace' and t.ended_at is null and t.paused_at is null
       and t.due_at is not distinct from v_item.seen_due_at
       for update;
    continue when not found;
    if s.has_pending then
      v_sent := array(
        select b.path || '#' || b.occurrence
          from jsonb_array_elements(v_item.branches) as i
          join layover.pending b on b.run_id = v_item.run_id
           and b.path = i->>'path' and b.occurrence = (i->>'occurrence')::integer
           and b.turn = coalesce((i->>'turn')::integer, b.turn)
         order by b.path, b.occurrence for update of b);
    end if;
    v_now := layover.now();
    v_is_refused := s.refused_by is not null
      and layover.has_refused(s.refused_by, p->>'namespace', p->>'deployment');
    if v_is_refused and s.status = 'parked' and not layover.has_taker(v_item.run_id, s.refused_by)
      and not exists (select from layover.pending b where b.run_id = v_item.run_id and b.token is not null)
    then
      update layover.run_state t set blocked = coalesce(t.blocked, s.refused_by->(p->>'deployment')->>'why'), due_at = null
       where t.run_id = v_item.run_id;
      continue;
    end if;
    v_need := case when s.at > v_now or not s.is_dispatched then s.at end;
    if s.has_pending then
      select least(v_need, min(coalesce(b.leased_until, b.ready_at))) into v_need
        from layover.pending b
       where b.run_id = v_item.run_id and layover.is_open_branch(b) and (coalesce(b.leased_until, b.ready_at) > v_now
           or b.path || '#' || b.occurrence <> all (v_sent));
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
       where b.run_id = v_item.run_id and b.path || '#' || b.occurrence = any (v_sent)
         and coalesce(b.leased_until, b.ready_at) <= v_now;
    end if;
    update layover.run_state t
       set due_at = v_item.due_at,
           dispatches = case when v_is_refused then t.dispatches else least(case when v_is_new then 0 else t.dispatches end
             + (s.is_dispatched and coalesce(s.blocked is not null or s.at <= v_now, false))::integer, 100) end
     where t.run_id = v_item.run_id;
  end loop;
  perform layover.check_armed(p);
  return json_build_object('now', layover.to_ms(layover.now()), 'moved', v_moved, 'left', v_left,
    'locked', v_locked);
end $$;

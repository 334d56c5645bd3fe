-- Branches of one run: leased -> recorded. It does what finish_branch does for a branch whose body is done. A branch that it leaves
-- out has no answer here: its row is locked, and finish_branch finishes it.
--
-- It finds each row once by its key, and then by its place in the table (ctid), since the rows are locked. A planner that knows little
-- of the table would otherwise read all rows of the run for each of them. One plan serves all calls: planning anew takes 1 ms.
create or replace function layover.finish_branches(p jsonb, turns jsonb[]) returns table (place bigint, answer json)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_indexscan = on set enable_seqscan = off as $$
declare
  v_run constant uuid := (turns[1]->>'runId')::uuid;
  v_now timestamptz;
  s     record;
begin
  select t.epoch, t.turn, t.last_position, t.last_record_at,
      t.status = 'parked' and layover.may_be_due(t) as is_waiting, t.ready_at,
      layover.stops_at(t) as stops_at, t.is_closing, t.is_closing or t.cancelled_position is not null as is_late
    into s from layover.run_state t where t.run_id = v_run and t.namespace = p->>'namespace' for update;
  if not found then
    return;
  end if;
  perform from unnest(turns) with ordinality as i (turn, number) cross join lateral (
    select from layover.pending b
     where b.run_id = v_run and b.path = i.turn->>'path' and b.occurrence = (i.turn->>'occurrence')::integer
       for update) as b;
  v_now := layover.now();
  return query
    with item as materialized (
      select q.ctid, i.number, i.token, i.armed, i.bytes, i.record, q.path, q.occurrence, q.map, q.is_released, q.leased_until,
          s.is_late or not q.is_shielded as is_waited_for,
          (s.last_position + row_number() over (order by i.number))::integer as position,
          row_number() over (partition by q.map order by i.number) as place_in_map,
          count(*) filter (where q.is_counted) over (partition by q.map order by i.number) as counted,
          max((i.record->>'at')::bigint) over (order by i.number) as at
        from (
          select u.number, (u.turn->>'token')::uuid as token, u.turn->'armed' as armed, u.turn->'record' as record,
              coalesce((u.turn->>'bytes')::integer, 0) as bytes, u.turn->>'path' as path,
              (u.turn->>'occurrence')::integer as occurrence
            from unnest(turns) with ordinality as u (turn, number)
        ) as i
        cross join lateral (
          select b.ctid, b.path, b.occurrence, b.map, b.is_counted, b.is_released, b.is_shielded, b.leased_until
            from layover.pending b
           where b.run_id = v_run and b.path = i.path and b.occurrence = i.occurrence and b.token = i.token
           limit 1) as q
    ), recorded as (
      insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value,
          recorded_at, began_at)
        select v_run, s.epoch, i.position, 'step', i.path, i.occurrence, (i.record->>'attempts')::integer,
            (i.record->>'isFailure')::boolean, i.record->>'value',
            greatest(layover.from_ms(i.at), s.last_record_at), layover.from_ms((i.record->>'beganAt')::bigint)
          from item i
    ), map as materialized (
      select i.map, count(*)::integer as count, max(i.counted)::integer as counted
        from item i where i.map is not null group by i.map
    ), queued as materialized (
      select q.ctid, q.path, q.occurrence, q.turn, n.map, row_number() over (partition by n.map order by q.ordinal) as place
        from map n cross join lateral (
          select b.ctid, b.path, b.occurrence, b.ordinal, b.turn from layover.pending b
           where b.run_id = v_run and b.map = n.map and b.is_queued order by b.ordinal limit n.count) as q
    ), readied as (
      update layover.pending b set is_queued = false, ready_at = 'epoch'
        from queued q where b.ctid = q.ctid
    ), left_over as (
      update layover.map m
         set counted = m.counted - n.counted,
             slots = m.slots + n.count - (select count(*) from queued q where q.map = n.map)::integer
        from map n where m.run_id = v_run and m.path = n.map
       returning m.path, m.counted + n.counted as counted, m.fails_fast
    ), going_on as materialized (
      select min(i.number) as number from item i left join left_over l on l.path = i.map
       where not i.is_released
         and (i.map is null or l.counted = i.counted or (l.fails_fast and (i.record->>'isFailure')::boolean))
    ), last_one as materialized (
      -- The number of the item with which the wait of the run's timeout or cancel ends. Null: neither has come, or it waits for others.
      select case when count(*) > 0
          then coalesce(max(i.number) filter (where i.leased_until > v_now and i.is_waited_for), 1) end as number
        from item i
       where (s.is_closing or s.stops_at <= v_now) and not exists (
         select from layover.pending b
          where b.run_id = v_run and b.leased_until > v_now and (s.is_late or not b.is_shielded)
            and not exists (select from item j where j.ctid = b.ctid))
    ), moved as (
      update layover.run_state t
         set last_position = t.last_position + i.count, history_bytes = t.history_bytes + i.bytes,
             last_record_at = greatest(layover.from_ms(i.at), t.last_record_at),
             ready_at = case when g.number is not null then 'epoch' else t.ready_at end,
             due_at = case when layover.may_be_due(t) then least(t.due_at, i.due_at) end
        from (select count(*)::integer as count, sum(j.bytes)::integer as bytes, max(j.at) as at,
                  min(layover.pick_due(j.armed, v_now)) as due_at from item j) as i, going_on g
       where t.run_id = v_run and i.count > 0
    ), answered as materialized (
      select i.ctid, i.number, i.position, i.token, json_build_object('outcome', 'finished',
          'continues', case when s.is_waiting and (i.number >= l.number
            or (i.number = g.number and (s.ready_at is null or s.ready_at > v_now))) then s.turn end,
          'turn', (turns[i.number]->>'turn')::integer + 1,
          'branches', case when q.path is not null
            then json_build_array(json_build_object('path', q.path, 'occurrence', q.occurrence, 'turn', q.turn)) end) as answer
        from going_on g, last_one l, item i left join queued q on q.map = i.map and q.place = i.place_in_map
    )
    update layover.pending b
       set token = null, leased_until = null, claims = 0, beginnings = 0, lost = 0, turn = b.turn + 1,
           position = a.position, is_counted = false,
           ready_at = null, finished_token = a.token, finished_answer = a.answer::text
      from answered a
     where b.ctid = a.ctid
     returning a.number, a.answer;
end $$;

-- Answers what the scheduler must look at: due runs of the versions that this deployment carries, a page at a time. Each comes with what
-- may be claimed now, and with the instant of what comes next. It writes nothing.
--
-- A new deployment looks at all runs that are ready or blocked, whenever they are due. A caller says so by `isNew`. Or it names its
-- `deployment`, which is new until it has noted that it has looked at everything (note_deployment). `withinMs` also lists what is
-- due soon, for every deployment: the process that was to dispatch it after a short wait may be dead. Blocked runs come last, so that
-- they never keep others waiting. The answer says what the deployment must note: that it is deployed (`isUnnoted`), or that it is still
-- there (`isStale`).
--
-- `readyUntil` also lists the runs that are ready now and due by that instant, which is later than now: the clock was set back since their
-- due instants were computed. What is ready does not wait for an instant of the clock as it was.
--
-- A run that this deployment has refused is listed too, since another deployment may get the dispatch. It counts as never dispatched.
--
-- `kept`: signals of deliveries that were kept for runs are due as well (send_kept_signals). The first of those that stay expires at
-- `expiresAt`.
--
-- `schedules`: the first 500 schedules that are due, each with the instant at which the scheduler will look next (fire_schedules). None
-- `withoutSchedules`: a caller says so if the same call has failed, so that a broken schedule does not stop runs.
--
-- `elsewhere`: other deployments that carry what is due and is not carried here (list_elsewhere), on the first page.
--
-- If the database belongs to another environment, there is nothing to look at: a caller that may claim nothing must not move what
-- others wait for.
--
-- Each half has an index, and bounds that the index can use whatever plan is kept: a hundred times as many runs may be over (at 300,000
-- of them one second without, 0.6 ms with). The index also has the runs of one instant in order. Without statistics Postgres would read
-- and sort all of them for each page, so it may read them by an index only.
create or replace function layover.list_due(p jsonb) returns json
language plpgsql volatile
set enable_indexscan = on set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_now   constant timestamptz := layover.now();
  v_limit constant integer := (p->>'limit')::integer;
  v_known layover.environment; -- if the deployment has no name
  v_noted layover.deployment;
  v_is_unnoted boolean := false;
  v_is_new boolean := (p->>'isNew')::boolean;
  v_tried uuid;
  v_soon  constant timestamptz := v_now + coalesce((p->>'withinMs')::integer, 0) * interval '1 millisecond';
  v_until timestamptz;
  v_ready_until constant timestamptz := layover.from_ms((p->>'readyUntil')::bigint);
  v_after constant timestamptz := layover.from_ms((p->'after'->>'dueAt')::bigint);
  v_after_run constant uuid := (p->'after'->>'runId')::uuid;
  v_from  constant timestamptz := coalesce(v_after, '-infinity');
  v_from_run constant uuid := coalesce(v_after_run, '00000000-0000-0000-0000-000000000000');
  v_is_apart constant boolean := coalesce((p->>'withoutSchedules')::boolean, false);
  v_runs  json;
begin
  if p ? 'environment' and layover.find_mismatch(p) is not null then
    return json_build_object('now', layover.to_ms(v_now), 'isOurs', false, 'isNew', false, 'runs', '[]'::json,
      'nextDueAt', null);
  end if;
  if p ? 'deploymentName' then
    v_noted := (select d from layover.deployment d
      where d.namespace = p->>'namespace' and d.name = p->>'deploymentName' and d.id = p->>'deployment');
    v_is_unnoted := v_noted.id is null or v_noted.seen_at < v_now - interval '2 hours' and not exists (
      select from layover.live_deployments(p->>'namespace') as l where l.name = v_noted.name and l.id = v_noted.id)
      -- `layover deployed` has noted it, which knows no schedules. Or a newer build kept its schedules, and is gone.
      or p ? 'declares' and not v_noted.has_declared and not layover.is_superseded(p->>'namespace', v_noted.name, v_noted.id);
    v_tried := case when not v_is_unnoted then v_noted.tried_through end;
    v_is_new := coalesce(v_is_new, v_is_unnoted or v_noted.looked_at is null);
  elsif p ? 'deployment' then
    v_known := (select e from layover.environment e where e.namespace = p->>'namespace');
    v_tried := case when v_known.deployment = p->>'deployment' then v_known.tried_through end;
    v_is_new := coalesce(v_is_new, v_known.deployment is distinct from p->>'deployment' or v_tried is not null);
  end if;
  v_is_new := coalesce(v_is_new, false);
  v_until := case when v_is_new then 'infinity' else greatest(v_soon, v_ready_until) end;
  select json_agg(json_build_object('runId', d.run_id, 'turn', d.turn, 'dueAt', layover.to_ms(d.due_at),
      'dispatches', case when d.is_refused then 0 else d.dispatches end, 'isReady', d.is_ready,
      'isUnfinished', d.status = 'running', 'groupSize', d.group_size,
      'nextAt', layover.to_ms(least(case when not d.is_ready then coalesce(d.leased_until, d.ready_at) end,
        d.timeout_at, b.next_at)),
      'timeoutAt', layover.to_ms(d.timeout_at),
      -- While a lease stands, each claim is refused, also one for the run's timeout.
      'ownAt', layover.to_ms(coalesce(d.leased_until, least(case when not d.is_ready then d.ready_at end, d.timeout_at))),
      'branches', b.ready, 'later', b.later) order by d.due_at, d.run_id)
    into v_runs
    from (
      select t.run_id, t.turn, t.due_at, t.dispatches, t.status,
          t.refused_by is not null and layover.has_refused(t.refused_by, t.namespace, p->>'deployment') as is_refused,
          t.leased_until, t.ready_at,
          layover.group_size(t.lost, t.spared, t.token is not null) as group_size,
          coalesce(t.leased_until <= v_now, t.ready_at <= v_now or t.blocked is not null, false) as is_ready,
          case when t.timeout_at > v_now then t.timeout_at end as timeout_at
        from (
          (select t.run_id, t.due_at
             from layover.run_state t join layover.run r on r.id = t.run_id
            where v_is_new and t.namespace = p->>'namespace' and t.blocked is not null
              and t.due_at is null and t.paused_at is null and layover.is_carried_here(p, r.workflow, r.version)
              and (v_tried is null or t.run_id > v_tried)
              and (v_after_run is null or v_after is not null or t.run_id > v_after_run)
            order by t.run_id limit v_limit)
          union all
          (select t.run_id, t.due_at
             from layover.run_state t join layover.run r on r.id = t.run_id
            where (v_after_run is null or v_after is not null)
              and t.namespace = p->>'namespace' and t.due_at <= v_until and (t.due_at, t.run_id) > (v_from, v_from_run)
              and layover.is_carried_here(p, r.workflow, r.version)
              and (t.due_at <= v_soon
                or case when t.blocked is not null then v_is_new and (v_tried is null or t.run_id > v_tried)
                  else t.ready_at <= v_now or (t.has_pending and exists (
                    select from layover.pending b where b.run_id = t.run_id and layover.is_open_branch(b)
                       and coalesce(b.leased_until, b.ready_at) <= v_now)) end)
            order by t.due_at, t.run_id limit v_limit)
          order by due_at, run_id limit v_limit
        ) as l
        join layover.run_state t on t.run_id = l.run_id
    ) as d
    left join lateral (
      select min(case when not q.is_ready then q.at end) as next_at,
          json_agg(json_build_object('path', q.path, 'occurrence', q.occurrence, 'turn', q.turn,
            'dispatches', case when d.is_refused then 0 else q.dispatches end, 'isUnfinished', q.is_unfinished,
            'groupSize', q.group_size) order by q.ordinal) filter (where q.is_ready) as ready,
          json_agg(json_build_object('path', q.path, 'occurrence', q.occurrence, 'turn', q.turn,
            'at', layover.to_ms(q.at)) order by q.ordinal) filter (where not q.is_ready and q.at <= v_soon) as later
        from (
          select b.path, b.occurrence, b.ordinal, b.turn, b.dispatches, b.token is not null as is_unfinished,
              layover.group_size(b.lost, b.spared, b.token is not null) as group_size,
              coalesce(b.leased_until, b.ready_at) as at, coalesce(b.leased_until, b.ready_at) <= v_now as is_ready
            from layover.pending b
           where b.run_id = d.run_id and layover.is_open_branch(b)
        ) as q
    ) as b on true;
  return json_build_object('now', layover.to_ms(v_now), 'isOurs', true, 'isNew', v_is_new, 'isUnnoted', v_is_unnoted,
    'isStale', v_noted.seen_at < v_now - interval '1 hour', 'runs', coalesce(v_runs, '[]'), 'nextDueAt', layover.to_ms(least((
      select min(t.due_at) from layover.run_state t where t.namespace = p->>'namespace' and t.due_at > v_now), (
      select min(u.due_at) from layover.kept_signal u where u.namespace = p->>'namespace' and u.due_at > v_now), (
      select min(v.due_at) from layover.schedule v where not v_is_apart and v.namespace = p->>'namespace' and v.due_at > v_now))),
    'schedules', case when not p ? 'after' and not v_is_apart then layover.list_due_schedules(p, v_now) end,
    'elsewhere', case when not p ? 'after' and exists (
      select from layover.deployment d
       where d.namespace = p->>'namespace' and d.wake_address is not null
         and (d.name, d.id) is distinct from (p->>'deploymentName', p->>'deployment'))
      then layover.list_elsewhere(p, v_now) end,
    'kept', (
      select json_build_object('expiresAt', layover.to_ms(min(u.expires_at) filter (where u.expires_at > v_now)))
        from layover.kept_signal u where u.namespace = p->>'namespace' and u.due_at <= v_now having count(*) > 0));
end $$;

-- Answers what `layover doctor` shows of a namespace: whose database it is, and which runs make no progress, by what keeps them. It
-- writes nothing.
--
-- It looks at the first 10,000 runs by due_at, at 1,000 blocked runs, at the 1,000 newest runs that failed, and at the 1,000
-- newest that are not over. The first are those that are overdue or at work. So it takes no longer when there are millions of runs.
--
-- It is planned at each call, and reads each row by its key. A plan from a time of few runs would take minutes for 10,000 runs.
create or replace function layover.diagnose(p jsonb) returns json
language plpgsql volatile
set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
declare
  v_namespace constant text := p->>'namespace';
  v_now       constant timestamptz := layover.now();
begin
  return (
    with due as materialized (
      select t.run_id, t.due_at, t.last_record_at, t.handed_position, t.has_pending, t.refused_by,
          greatest(t.lost, b.lost) as claims, greatest(t.dispatches, b.dispatches) as dispatches
        from (
          select t.run_id, t.due_at, t.last_record_at, t.handed_position, t.has_pending, t.lost, t.dispatches,
              case when t.status = 'parked' and t.ready_at <= v_now and exists (
                select from jsonb_each(t.refused_by) as e where (e.value->>'at')::bigint < layover.to_ms(v_now) - 60000)
                then t.refused_by end as refused_by
            from layover.run_state t
           where t.namespace = v_namespace and t.due_at <= v_now + interval '6 hours'
           order by t.due_at limit 10000
        ) as t
        left join lateral (
          select max(b.lost) as lost, max(b.dispatches) as dispatches
            from layover.pending b
           where t.has_pending and b.run_id = t.run_id and b.kind = 'branch' and b.position is null
        ) as b on true
    ), set_back as materialized (
      select d.run_id, b.setback
        from (select d.run_id from due d where d.run_id in (select w.run_id from layover.setback w) offset 0) as d
        cross join lateral (select t.* from layover.run_state t where t.run_id = d.run_id offset 0) as t
        cross join lateral (select layover.describe_setback(t) as setback) as b
       where b.setback is not null
    ), kept as materialized (
      select d.run_id, d.due_at, k.kept_by, case when k.kept_by = 'refused' then f.why end as reason,
          case when k.kept_by = 'refused' then f.ids end as refused_by, d.dispatches,
          d.claims
        from due d
        cross join lateral (
          select string_agg(e.key, ', ' order by e.key) as ids, min(e.value->>'why') as why
            from jsonb_each(d.refused_by) as e) as f
        cross join lateral (select case
            when d.claims > 1 and d.run_id not in (select b.run_id from set_back b) then 'crashes' -- a setback says why itself
            when d.refused_by is not null then 'refused'
            when d.dispatches > 2 then 'unclaimed'
            when d.due_at < v_now - interval '3 minutes' then 'overdue'
          end as kept_by) as k
       where k.kept_by is not null
      union all
      select b.run_id, layover.from_ms((b.setback->>'since')::bigint), 'setback', b.setback->>'reason', null, null,
          (b.setback->>'tries')::integer
        from set_back b
      union all
      (select t.run_id, null, 'blocked', t.blocked,
          (select string_agg(e.key, ', ' order by e.key) from jsonb_object_keys(t.refused_by) as e (key)), null, null
        from layover.run_state t where t.namespace = v_namespace and t.blocked is not null
       order by t.run_id limit 1000)
    ), live as materialized (
      select d.* from layover.deployment d
       where d.namespace = v_namespace and (d.name, d.id) in (
         select l.name, l.id from layover.live_deployments(v_namespace) as l)
    ), groups as (
      select k.kept_by, r.workflow, r.version, k.reason, k.refused_by, count(*) as runs, min(k.due_at) as since,
          max(k.dispatches) as dispatches, max(k.claims) as claims,
          (array_agg(k.run_id order by k.due_at, k.run_id))[1] as example
        from kept k cross join lateral (select r.* from layover.run r where r.id = k.run_id offset 0) as r
       group by k.kept_by, r.workflow, r.version, k.reason, k.refused_by
    )
    select json_build_object(
      'now', layover.to_ms(v_now),
      'environment', (
        select json_build_object('name', e.name, 'endpoint', e.endpoint, 'adoptedAt', layover.to_ms(e.adopted_at),
            'addresses', e.endpoint || e.other_endpoints, 'isSameDatabase', e.identity = layover.identity())
          from layover.environment e where e.namespace = v_namespace),
      'otherNamespaces', (
        select coalesce(json_agg(o.namespace), '[]') from (
          select e.namespace from layover.environment e where e.namespace <> v_namespace order by 1 limit 10) as o),
      'hasRuns', exists (select from layover.run r where r.namespace = v_namespace),
      'deployments', (
        select coalesce(json_agg(json_build_object('name', d.name, 'id', d.id, 'versions', d.versions,
            'deployedAt', layover.to_ms(d.deployed_at), 'seenAt', layover.to_ms(d.seen_at), 'wakeAddress', d.wake_address)
            order by d.name, d.deployed_at desc), '[]')
          from live d),
      'isCut', (select count(*) = 10000 from due),
      'lastTurnAt', layover.to_ms(greatest(
        (select max(d.last_record_at) from due d where d.handed_position >= 0),
        (select max(t.ended_at) from layover.run_state t where t.namespace = v_namespace))),
      'troubles', (
        select coalesce(json_agg(json_build_object('keptBy', g.kept_by, 'workflow', g.workflow, 'version', g.version,
            'reason', g.reason, 'refusedBy', g.refused_by, 'runs', g.runs, 'since', layover.to_ms(g.since), 'dispatches', g.dispatches,
            'claims', g.claims, 'example', g.example) order by g.kept_by, g.runs desc, g.workflow, g.version), '[]')
          from groups g),
      'pausedWorkflows', (
        select coalesce(json_agg(json_build_object('workflow', o.workflow, 'since', layover.to_ms(o.paused_at), 'by', o.asked_by,
            'reason', o.reason) order by o.paused_at, o.workflow), '[]')
          from (
            select q.workflow, q.paused_at, q.asked_by, q.reason
              from layover.workflow_pause q where q.namespace = v_namespace and q.resumed_at is null
             order by q.paused_at limit 100
          ) as o),
      'halfUndone', ( -- runs of the last week of which an undo failed for good
        select coalesce(json_agg(json_build_object('workflow', u.workflow, 'version', u.version, 'runs', u.runs, 'undos', u.undos,
            'since', layover.to_ms(u.since), 'example', u.example) order by u.runs desc, u.workflow, u.version), '[]')
          from (
            select r.workflow, r.version, count(*) as runs, sum(t.failed_undos) as undos, min(t.ended_at) as since,
                (array_agg(t.run_id order by t.ended_at desc, t.run_id))[1] as example
              from (
                select t.run_id, t.failed_undos, t.ended_at
                  from layover.run_state t where t.namespace = v_namespace and t.error is not null
                 order by t.run_id desc limit 1000
              ) as t
              cross join lateral (select r.* from layover.run r where r.id = t.run_id offset 0) as r
             where t.failed_undos > 0 and t.ended_at > v_now - interval '7 days'
             group by r.workflow, r.version
          ) as u),
      'closing', ( -- of the 1,000 newest runs that are not over: those that wait for runs that they have cancelled
        select coalesce(json_agg(json_build_object('workflow', o.workflow, 'version', o.version, 'runs', o.runs, 'since', layover.to_ms(o.since),
            'example', o.example, 'waitsFor', o.waits_for) order by o.runs desc, o.workflow, o.version), '[]')
          from (
            select r.workflow, r.version, count(*) as runs, min(b.since) as since, (array_agg(t.run_id order by b.since, t.run_id))[1] as example,
                (array_agg(b.waits_for order by b.since, t.run_id))[1] as waits_for
              from (
                select t.run_id, t.is_closing from layover.run_state t
                 where t.namespace = v_namespace and t.ended_at is null order by t.run_id desc limit 1000
              ) as t
              cross join lateral (
                select b.until - interval '1 day' as since, b.child_run_id as waits_for
                  from layover.pending b
                 where b.run_id = t.run_id and b.child_bond = 'cancelled' and b.child_status is null and b.until > v_now
                 order by b.until, b.child_run_id limit 1
              ) as b
              cross join lateral (select r.* from layover.run r where r.id = t.run_id offset 0) as r
             where t.is_closing and b.since <= v_now - interval '3 minutes'
             group by r.workflow, r.version
          ) as o),
      'schedules', layover.list_troubled_schedules(v_namespace),
      'waiting', ( -- of the 1,000 newest runs that are not over
        select coalesce(json_agg(json_build_object('workflow', o.workflow, 'version', o.version, 'runs', o.runs, 'carriers', (
              select coalesce(json_agg(distinct l.name), '[]') from live l where l.versions->o.workflow @> to_jsonb(o.version)))
            order by o.runs desc, o.workflow, o.version), '[]')
          from (
            select r.workflow, r.version, count(*) as runs
              from (
                select t.run_id from layover.run_state t
                 where t.namespace = v_namespace and t.ended_at is null order by t.run_id desc limit 1000
              ) as t
              cross join lateral (select r.* from layover.run r where r.id = t.run_id offset 0) as r
             group by r.workflow, r.version
             order by count(*) desc limit 100
          ) as o),
      'otherContracts', ( -- of the 1,000 newest runs that are not over
        select coalesce(json_agg(json_build_object('workflow', o.workflow, 'version', o.version, 'runs', o.runs, 'example', o.example)
            order by o.runs desc, o.workflow, o.version), '[]')
          from (
            select r.workflow, r.version, count(*) as runs, (array_agg(r.id order by r.id desc))[1] as example
              from (
                select t.run_id from layover.run_state t
                 where t.namespace = v_namespace and t.ended_at is null order by t.run_id desc limit 1000
              ) as t
              cross join lateral (select r.* from layover.run r where r.id = t.run_id offset 0) as r
             where r.signature is not null and (
               select bool_and(l.signatures->r.workflow->>r.version::text <> r.signature) from live l)
             group by r.workflow, r.version
          ) as o)));
end $$;

-- Everything that the rules of a world look at, of all runs that are in the database, in one answer.
select json_build_object(
  'orphans', (
    select count(*)::integer from (
      select run_id from layover.run_state union all select run_id from layover.record
      union all select run_id from layover.pending union all select run_id from layover.map
      union all select run_id from layover.attempt union all select run_id from layover.signal
      union all select run_id from layover.callback union all select run_id from layover.tag union all select run_id from layover.epoch
      union all select run_id from layover.patch union all select run_id from layover.setback union all select run_id from layover.operation) as row
     where not exists (select from layover.run r where r.id = row.run_id)),
  'kept', (select coalesce(json_agg(json_build_object('key', u.user_id, 'delivery', u.delivery, 'due', layover.to_ms(u.due_at)::float8)
    order by u.number), '[]') from layover.kept_signal u),
  'bare', (select count(*)::integer from layover.run r where not exists (select from layover.run_state s where s.run_id = r.id)),
  'runs', coalesce((
    select json_agg(json_build_object(
        'runId', s.run_id,
        'workflow', r.workflow,
        'version', r.version,
        'status', s.status,
        'epoch', s.epoch,
        'turn', s.turn,
        'bookings', (select coalesce(json_agg(x.key order by x.key), '[]') from layover_test.booking x where x.run_id = s.run_id),
        'copied', coalesce((select e.kept from layover.epoch e where e.run_id = s.run_id and e.epoch = s.epoch and e.why = 'forked'), 0),
        'timeoutAt', layover.to_ms(s.timeout_at)::float8,
        'pausedAt', layover.to_ms(s.paused_at)::float8,
        'isPaused', s.paused_at is not null,
        'isStopped', s.paused_at is not null or s.blocked is not null,
        'blocked', s.blocked,
        'token', s.token,
        'finishedToken', s.finished_token,
        'leasedUntil', layover.to_ms(s.leased_until)::float8,
        'readyAt', layover.to_ms(s.ready_at)::float8,
        'stopsAt', layover.to_ms(case
           when s.ending_position is not null then null
           when s.cancel_requested_at is not null and s.cancelled_position is null then timestamptz 'epoch'
           when s.cancel_requested_at is not null or s.cancelled_position is null then s.timeout_at end)::float8,
        'isCancelling', s.cancel_requested_at is not null and coalesce(s.cancel_reason not in ('timeout', 'its handler has thrown'), true),
        'closings', h.closings,
        'due', layover.to_ms(s.due_at)::float8,
        -- A run whose cancel is not recorded yet is claimable when the leases of its branches end, also those of losers, but not of those
        -- that clean up. A run that closes is claimable when all leases end.
        'claimableAt', layover.to_ms(least(b.claimable_at, case when s.status = 'running' then s.leased_until
           when s.cancel_requested_at is not null and s.cancelled_position is null then greatest('epoch',
             (select max(q.leased_until) from layover.pending q where q.run_id = s.run_id and not q.is_shielded))
           when s.is_closing then greatest(s.ready_at, (select max(q.leased_until) from layover.pending q where q.run_id = s.run_id))
           else s.ready_at end))::float8,
        'isSuspect', layover.group_size(s.lost, s.spared, s.token is not null) is not null or coalesce(b.is_suspect, false),
        'dispatches', greatest(s.dispatches, b.dispatches)::integer,
        'lastPosition', s.last_position,
        'handedPosition', s.handed_position,
        'hasPending', s.has_pending,
        'hasMail', s.has_mail,
        'closed', coalesce(s.closed, '{}'),
        'end', coalesce(s.result, s.error),
        'customStatus', s.custom_status,
        'records', h.records,
        'steps', h.steps,
        'invoked', h.invoked,
        'children', (select coalesce(json_agg(json_build_object('place', c.parent_path || '#' || c.parent_occurrence, 'runId', c.id,
             'isOver', x.ended_at is not null) order by c.id), '[]')
           from layover.run c join layover.run_state x on x.run_id = c.id where c.parent_run_id = s.run_id),
        'isClosing', s.is_closing,
        'ending', h.ending,
        'endings', h.endings,
        'undos', s.undos,
        'failedUndos', s.failed_undos,
        'attempted', (select coalesce(json_agg(distinct a.path || '#' || a.occurrence), '[]')
           from layover.attempt a where a.run_id = s.run_id and a.epoch = s.epoch),
        'isInterrupted', h.is_interrupted,
        'tidied', h.tidied,
        'untidy', h.untidy,
        'isDistinct', h.is_distinct,
        'isDense', h.is_dense,
        'timesAscend', h.times_ascend,
        'pending', coalesce(p.rows, '[]'::json),
        'signals', coalesce(g.rows, '[]'::json),
        'answers', coalesce(c.rows, '[]'::json)) order by s.run_id)
      from layover.run_state s
      join layover.run r on r.id = s.run_id
      cross join lateral (
        select coalesce(json_agg(hashtext(d::text) order by d.position), '[]'::json) as records,
               count(*) filter (where d.kind = 'closing')::integer as closings,
               coalesce(json_agg(d.path || '#' || d.occurrence) filter (where d.is_tidy or d.is_undo), '[]') as tidied,
               coalesce(json_agg(d.path || '#' || d.occurrence) filter (where d.kind not in ('closing', 'ending') and not (d.is_tidy or d.is_undo)
                 -- the end of an invoked run is recorded for its undo, too
                 and not (d.kind = 'child' and exists (select from layover.record e where e.run_id = d.run_id and e.epoch = d.epoch and e.kind = 'ending'))
                 -- a retry must know of a step that ran at most once, and nobody knows how it ended
                 and not (d.kind = 'step' and d.is_failure and d.value like '%"code":"interrupted"%' and s.status = 'failed')
                 and d.position > s.cancelled_position and s.cancel_requested_at is not null), '[]') as untidy,
               count(distinct (d.path, d.occurrence)) filter (where d.path <> '')
                 = count(*) filter (where d.path <> '') as is_distinct,
               coalesce(json_agg(json_build_object('place', d.path || '#' || d.occurrence, 'position', d.position,
                 'failure', case when d.is_failure then d.value end) order by d.position)
                 filter (where d.kind = 'step'), '[]') as steps,
               coalesce(json_agg(json_build_object('place', d.path || '#' || d.occurrence, 'position', d.position,
                 'failure', case when d.is_failure then d.value end, 'isTimeout', d.value is null) order by d.position)
                 filter (where d.kind = 'child'), '[]') as invoked,
               (json_agg(json_build_object('position', d.position, 'value', d.value)) filter (where d.kind = 'ending'))->0 as ending,
               count(*) filter (where d.kind = 'ending')::integer as endings,
               coalesce(bool_or(d.kind in ('closing', 'cancellation') and d.attempts > 1), false) as is_interrupted,
               count(*) = s.last_position and coalesce(max(d.position), 0) = s.last_position as is_dense,
               coalesce(bool_and(d.recorded_at >= d.before), true) as times_ascend
          from (select d.*, d.path ~ '(^|/)tidy(#[0-9]+)?/' as is_tidy, starts_with(d.path, '[undo]/') as is_undo, coalesce(lag(d.recorded_at) over (order by d.position), d.recorded_at) as before
                  from layover.record d where d.run_id = s.run_id and d.epoch = s.epoch) as d) as h
      left join lateral (
        select min(coalesce(q.leased_until, q.ready_at)) filter (where s.cancel_requested_at is null or q.is_shielded) as claimable_at,
               max(q.dispatches) as dispatches,
               bool_or(layover.group_size(q.lost, q.spared, q.token is not null) is not null) as is_suspect
          from layover.pending q
         where q.run_id = s.run_id and q.kind = 'branch' and q.position is null and not q.is_queued and not q.is_released
      ) as b on true
      left join lateral (
        select json_agg(json_build_object(
                 'place', q.path || '#' || q.occurrence, 'kind', q.kind, 'signal', q.signal, 'isTimed', q.until is not null,
                 'isReleased', q.is_released, 'isShielded', q.is_shielded,
                 'isMistold', q.child_status is not null and exists (
                   select from layover.run_state o where o.run_id = q.child_run_id and o.ended_at is null),
                 'turn', q.turn, 'token', q.token, 'finishedToken', q.finished_token,
                 'leasedUntil', layover.to_ms(q.leased_until)::float8, 'position', q.position) order by q.ordinal, q.path) as rows
          from layover.pending q where q.run_id = s.run_id) as p on true
      left join lateral (
        select json_agg(json_build_object('name', q.name, 'payload', q.payload, 'position', q.position,
                 'isTaken', d.kind = 'signal' and d.value = q.payload) order by q.number) as rows
          from layover.signal q
          left join layover.record d on d.run_id = q.run_id and d.epoch = s.epoch and d.position = q.position
         where q.run_id = s.run_id and (q.position is null or q.taken_epoch = s.epoch)) as g on true
      left join lateral (
        select json_agg(json_build_object('place', q.path || '#' || q.occurrence, 'outcome', q.outcome, 'position', q.position) order by q.path, q.occurrence) as rows
          from (select distinct on (k.path, k.occurrence) k.* from layover.callback k where k.run_id = s.run_id
                 order by k.path, k.occurrence, k.epoch desc) as q
         where (q.position is null or exists (
           select from layover.record d where d.run_id = q.run_id and d.epoch = s.epoch and d.position = q.position and d.kind = 'callback'
             and d.path = q.path and d.occurrence = q.occurrence))) as c on true
     where s.namespace = 'simulation'), '[]'::json)) as snapshot

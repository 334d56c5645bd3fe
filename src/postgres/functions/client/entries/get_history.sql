-- Answers a run's timeline, of the given epoch or the newest one: its records, its failed attempts, what it waits for, the last 1,000 runs
-- that it has started, and the last 100 operations of people. There may be tens of thousands of attempts, so it answers the last ones, as
-- many as have 2 MB of errors together.
create or replace function layover.get_history(p jsonb) returns json
language sql volatile as $$
  select layover.check_key(p) where p ? 'keyId';
  select coalesce((
    select json_build_object('runId', f.run, 'records', coalesce((
        select json_agg(json_build_object('position', h.position, 'kind', h.kind, 'path', h.path,
            'occurrence', h.occurrence, 'attempts', h.attempts, 'isFailure', h.is_failure, 'value', h.value,
            'beganAt', layover.to_ms(h.began_at), 'recordedAt', layover.to_ms(h.recorded_at)) order by h.position)
          from layover.record h where h.run_id = f.run and h.epoch = v.epoch
            and h.position > coalesce((p->>'after')::integer, 0)
            and h.position <= coalesce((p->>'after')::integer, 0) + coalesce((p->>'limit')::integer, 10000)), '[]'),
      'attempts', coalesce((
        select json_agg(json_build_object('path', a.path, 'occurrence', a.occurrence, 'number', a.number,
            'beganAt', layover.to_ms(a.began_at), 'endedAt', layover.to_ms(a.ended_at), 'error', a.error,
            'requestId', a.request_id) order by a.began_at, a.path, a.occurrence, a.number)
          from (
            select a.*, sum(octet_length(a.error)) over (order by a.began_at desc, a.path desc, a.occurrence desc,
                a.number desc rows unbounded preceding) as bytes
              from layover.attempt a where a.run_id = f.run and a.epoch = v.epoch
          ) as a where a.bytes <= 2000000), '[]'),
      'attemptCount', (select count(*) from layover.attempt a where a.run_id = f.run and a.epoch = v.epoch),
      'pending', coalesce((
        select json_agg(json_build_object('kind', b.kind, 'path', b.path, 'occurrence', b.occurrence,
            'signal', b.signal, 'childRunId', b.child_run_id, 'until', layover.to_ms(b.until), 'readyAt', layover.show_ready_at(b.ready_at),
            'leasedUntil', layover.to_ms(b.leased_until), 'attempts', b.attempts, 'lost', b.lost,
            'isQueued', b.is_queued, 'epoch', coalesce(b.callback_epoch, t.epoch))
            order by b.ordinal, b.path)
          from layover.pending b where b.run_id = f.run and b.position is null), '[]'),
      'children', coalesce((
        select json_agg(json_build_object('path', c.parent_path, 'occurrence', c.parent_occurrence, 'runId', c.id,
            'createdAt', layover.to_ms(c.created_at)) order by c.created_at, c.id)
          from (
            select c.* from layover.run c where c.parent_run_id = f.run order by c.id desc limit 1000
          ) as c), '[]'),
      'operations', coalesce((
        select json_agg(json_build_object('callId', x.call_id, 'verb', x.verb, 'by', x.asked_by, 'reason', x.reason,
            'askedAt', layover.to_ms(x.asked_at), 'verdict', x.verdict::json->>'outcome') order by x.asked_at, x.call_id)
          from (
            select x.* from layover.operation x where x.run_id = f.run order by x.asked_at desc, x.call_id desc limit 100
          ) as x), '[]'),
      'given', (select e.before->'given' from layover.epoch e where e.run_id = f.run and e.epoch = v.epoch),
      'epoch', v.epoch, 'epochs', coalesce((
        select json_agg(json_build_object('epoch', e.epoch, 'why', e.why, 'beganAt', layover.to_ms(e.began_at), 'kept', e.kept) order by e.epoch)
          from (select e.* from layover.epoch e where e.run_id = f.run order by e.epoch desc limit 100) as e), '[]'))
      from layover.find_run(p) as f (run) join layover.run_state t on t.run_id = f.run
      cross join lateral (select coalesce((p->>'epoch')::integer, t.epoch) as epoch) as v),
    json_build_object('outcome', 'unknown'))
$$;

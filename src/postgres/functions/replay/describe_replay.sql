-- Answers what a replay of a run needs: the run and its input, the records of its newest epoch, the changes of its code that it has met,
-- and what it waits for. Also its failed attempts (the last ones, as many as have 1 MB of errors together), which signals it took at which
-- position, and how many it has not taken.
--
-- Records come in pages: those after the position `after`, as many as fit in `budgetBytes`. Only the first page has the rest. All of a page
-- is of one snapshot. `epoch` and `turn` tell whether a later page is still of the same history.
create or replace function layover.describe_replay(run uuid, p jsonb) returns json
language sql volatile as $$
  select json_build_object('outcome', 'read', 'now', layover.to_ms(layover.now()), 'runId', t.run_id, 'epoch', t.epoch, 'turn', t.turn,
      'position', t.last_position, 'handedPosition', t.handed_position, 'records', coalesce(h.records, '[]'), 'takes', coalesce((
        select json_agg(json_build_object('position', g.position, 'number', g.number, 'name', g.name,
            'receivedAt', layover.to_ms(g.received_at)) order by g.position)
          from layover.signal g where g.run_id = t.run_id and g.position > v.after
            and g.position <= v.after + json_array_length(coalesce(h.records, '[]'))), '[]'),
      'rest', case when v.after = 0 then json_build_object('status', layover.run_status(t), 'blocked', t.blocked,
        'result', t.result, 'error', t.error,
        'run', case when t.epoch = 0 then layover.read_run(t.run_id) else layover.read_epoch(t.run_id, t.epoch) end,
        'patches', layover.read_patches(t.run_id, t.epoch),
        'pending', coalesce((
          select json_agg(json_build_object('kind', b.kind, 'path', b.path, 'occurrence', b.occurrence,
              'demandedAfter', b.demanded_after, 'until', layover.to_ms(b.until), 'attempts', b.attempts,
              'position', b.position, 'isReleased', b.is_released, 'signal', b.signal, 'childRunId', b.child_run_id) order by b.ordinal)
            from layover.pending b where b.run_id = t.run_id and (b.child_bond is null or not b.is_released)), '[]'),
        'attempts', coalesce((
          select json_agg(json_build_object('path', a.path, 'occurrence', a.occurrence, 'number', a.number,
              'beganAt', layover.to_ms(a.began_at), 'endedAt', layover.to_ms(a.ended_at), 'error', a.error)
              order by a.began_at, a.path, a.occurrence, a.number)
            from (
              select a.*, sum(octet_length(a.error)) over (order by a.began_at desc, a.path desc, a.occurrence desc,
                  a.number desc rows unbounded preceding) as bytes
                from layover.attempt a where a.run_id = t.run_id and a.epoch = t.epoch
            ) as a where a.bytes <= 1000000), '[]'),
        'mail', coalesce((
          select json_object_agg(m.name, m.count)
            from (select g.name, count(*) as count from layover.signal g
              where g.run_id = t.run_id and g.position is null group by g.name) as m), '{}')) end)
    from layover.run_state t cross join lateral (select coalesce((p->>'after')::integer, 0) as after) as v
    cross join lateral (
      select case when t.last_position > v.after then layover.read_records(t.run_id, t.epoch, v.after, t.last_position,
        coalesce((p->>'budgetBytes')::bigint, 2000000)) end as records) as h
   where t.run_id = run
$$;

-- A run as the client's `get` and `list` show it.
create or replace function layover.describe(run uuid) returns json
language sql volatile as $$
  select json_build_object('runId', r.id, 'workflow', r.workflow, 'version', r.version, 'id', r.user_id,
      'status', layover.run_status(s), 'customStatus', s.custom_status, 'epoch', s.epoch, 'turn', s.turn,
      'input', r.input, 'result', s.result, 'error', s.error, 'blocked', s.blocked,
      'createdAt', layover.to_ms(r.created_at), 'endedAt', layover.to_ms(s.ended_at),
      'readyAt', layover.to_ms(s.ready_at), 'dueAt', layover.to_ms(s.due_at), 'timeoutAt', layover.to_ms(s.timeout_at),
      'records', s.last_position,
      'tags', coalesce((select json_object_agg(t.name, t.value order by t.name) from layover.tag t
        where t.run_id = r.id), '{}'))
    from layover.run r join layover.run_state s on s.run_id = r.id where r.id = run
$$;

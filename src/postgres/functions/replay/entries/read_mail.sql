-- Answers what a run may still be given: the signals that it has not taken, in order of arrival, and whether a run waits for its end. With
-- `read_replay` that is all that decides whether the run fits another version of its workflow. upgrade_run takes `epoch`, `turn`,
-- `position` and `lastMail`, to know whether the run is still as it was looked at.
--
-- Signals come in pages: those after the number `after`, as many as fit in `budgetBytes`. It writes nothing: the role reader may call it.
create or replace function layover.read_mail(p jsonb) returns json
language sql volatile as $$
  select layover.check_key(p) where p ? 'keyId';
  select coalesce((
    select json_build_object('outcome', 'read', 'runId', r.id, 'epoch', t.epoch, 'turn', t.turn, 'position', t.last_position,
        'lastMail', layover.last_mail(r.id), 'isAwaited', exists (
          select from layover.pending o where o.run_id = r.parent_run_id and o.child_run_id = r.id and not o.is_released),
        'signals', coalesce((
          select json_agg(json_build_object('number', g.number, 'name', g.name, 'payload', g.payload, 'isParsed', g.is_parsed,
              'receivedAt', layover.to_ms(g.received_at)) order by g.number)
            from (
              select g.*, sum(octet_length(g.payload)) over (order by g.number rows between unbounded preceding and 1 preceding) as before
                from layover.signal g where g.run_id = r.id and g.position is null and g.number > coalesce((p->>'after')::bigint, 0)
            ) as g where coalesce(g.before, 0) < coalesce((p->>'budgetBytes')::bigint, 2000000)), '[]'))
      from layover.run r join layover.run_state t on t.run_id = r.id where r.id = layover.find_run(p)),
    json_build_object('outcome', 'unknown'))
$$;

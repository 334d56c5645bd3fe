-- Answers a run as the client's `get` and `list` show it. It leaves out values longer than the given number of bytes, and names them:
-- otherwise a page of 200 runs may hold 600 MiB of them.
create or replace function layover.describe(run uuid, longest_input integer, longest_value integer) returns json
language plpgsql volatile as $$
begin
  return (
    select json_build_object('runId', r.id, 'workflow', r.workflow, 'version', r.version, 'id', r.user_id,
        'status', layover.run_status(t), 'customStatus', t.custom_status, 'epoch', t.epoch, 'turn', t.turn,
        'input', case when v.left_out ? 'input' then null else coalesce(e.input, r.input) end,
        'result', case when v.left_out ? 'result' then null else t.result end,
        'error', case when v.left_out ? 'error' then null else t.error end,
        'leftOut', v.left_out, 'blocked', t.blocked,
        'refusedBy', case when t.ended_at is null then (
          select json_agg(json_build_object('deployment', f.key, 'at', f.value->'at', 'why', f.value->'why')
              order by (f.value->>'at')::bigint, f.key)
            from jsonb_each(t.refused_by) as f) end,
        'setback', case when t.ended_at is null and t.blocked is null then layover.describe_setback(t) end,
        'createdAt', layover.to_ms(r.created_at), 'endedAt', layover.to_ms(t.ended_at),
        'readyAt', layover.show_ready_at(case when t.ended_at is null then least(t.ready_at, (
          select min(b.ready_at) from layover.pending b
           where t.has_pending and b.run_id = r.id and layover.is_open_branch(b) and b.token is null)) end), 'dueAt', layover.to_ms(t.due_at),
        'pausedAt', case when t.ended_at is null then layover.to_ms(t.paused_at) end, 'isHeld', t.ended_at is null and t.paused_at is not null and t.is_held,
        'leasedUntil', layover.to_ms(t.leased_until), 'timeoutAt', layover.to_ms(t.timeout_at),
        'records', t.last_position, 'lost', t.lost, 'closed', t.closed,
        'undos', case when t.ending_position is not null then json_build_object('owed', t.undos,
          'done', least(t.undos, t.last_position - t.ending_position), 'failed', t.failed_undos) end,
        'untaken', case when longest_value is null then (select json_object_agg(m.name, m.count order by m.name) from (
          select g.name, count(*) from layover.signal g where g.run_id = r.id and g.position is null group by g.name) as m) end,
        'tags', coalesce((select json_object_agg(l.name, l.value order by l.name) from layover.tag l
          where l.run_id = r.id), '{}'))
      from layover.run r join layover.run_state t on t.run_id = r.id
      left join layover.epoch e on e.run_id = r.id and e.epoch = t.epoch
      cross join lateral (
        select coalesce(jsonb_agg(w.name), '[]') as left_out
          from (values ('input', layover.value_bytes(coalesce(e.input, r.input)), longest_input),
            ('result', layover.value_bytes(t.result), longest_value),
            ('error', layover.value_bytes(t.error), longest_value)) as w (name, length, longest)
         where w.length > w.longest
      ) as v
     where r.id = run
  );
end $$;

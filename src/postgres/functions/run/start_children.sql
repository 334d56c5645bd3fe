-- nothing -> parked, for the runs that a turn starts, in the finish that parks their parent. So each of them is there exactly once. Their
-- ids are made from the parent's id and the place, and are the same each time.
--
-- A run that its parent waits for gets a pending row. One that is detached gets a record at once, with its id. So does each that cannot be
-- started, with an error: its id is taken, or the parent has started too many, or too many are above it.
--
-- A run may be started long after it was demanded: when a slot of its map is free, or when 500 others were. Its row says after which record
-- it was started, so that a process that knows the demand and not the row learns of it (see refresh_pending).
--
-- A parent that is retried takes a run that it had started as that stands now.
--
-- Answers the new runs. Null: the parent may start none now, since it closes or is paused; the next turn asks again. Its caller has
-- locked the parent.
create or replace function layover.start_children(run uuid, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_now     constant timestamptz := layover.now();
  v_started uuid[];
  v_count   integer;
  s         record;
begin
  select t.namespace, t.epoch, t.last_position, t.last_record_at, t.children, r.depth, r.chain,
      coalesce(e.why = 'retried', false) as is_retried,
      t.paused_at is null and not t.is_closing and coalesce(layover.stops_at(t) > v_now, true) as may_start into s
    from layover.run_state t join layover.run r on r.id = t.run_id
      left join layover.epoch e on e.run_id = t.run_id and e.epoch = t.epoch
   where t.run_id = run;
  if not s.may_start then
    return null;
  end if;
  perform layover.lock_ids(s.namespace, f->'children');
  with item as materialized (
    select o.*, case
        when o.known_id is not null then 'known'
        when o.place + s.children > 10000 then 'too_many_children'
        when not o.is_detached and s.depth >= 20 or s.chain >= 1000 then 'chain_too_long' end as refusal
      from (
        select (d->>'runId')::uuid as id, d->>'path' as path, (d->>'occurrence')::integer as occurrence,
            (d->>'demandedAfter')::integer as demanded_after, (d->>'ordinal')::integer as ordinal,
            layover.from_ms((d->>'until')::bigint) as until, coalesce((d->>'isDetached')::boolean, false) as is_detached,
            coalesce((d->>'isBound')::boolean, false) as is_bound,
            d->>'workflow' as workflow, (d->>'version')::integer as version, d->>'signature' as signature, d->>'traceparent' as traceparent, d->>'id' as user_id, d->>'input' as input,
            (d->>'timeoutMs')::bigint as timeout_ms, coalesce(d->'tags', '{}') as tags,
            row_number() over (order by (d->>'ordinal')::integer) as place,
            case when s.is_retried and not d ? 'isDetached' then ( -- a retry asks for it again, maybe later: the rest of its id is the same
              select o.id from layover.run o where o.parent_run_id = run and o.parent_path = d->>'path'
                and o.parent_occurrence = (d->>'occurrence')::integer and right(o.id::text, 21) = right(d->>'runId', 21)) end as known_id
          from jsonb_array_elements(f->'children') as d
      ) as o
  ), made as (
    insert into layover.run (id, namespace, workflow, version, user_id, input, is_input_parsed, signature, traceparent, created_at,
        timeout_ms, parent_run_id, parent_path, parent_occurrence, depth, chain)
      select i.id, s.namespace, i.workflow, i.version, i.user_id, i.input, true, i.signature, i.traceparent, v_now,
          i.timeout_ms, run, i.path, i.occurrence, case when i.is_detached then 0 else s.depth + 1 end, s.chain + 1
        from item i where i.refusal is null order by i.workflow, i.user_id, i.id
      on conflict do nothing
      returning id
  ), states as (
    insert into layover.run_state (run_id, namespace, status, timeout_at, last_record_at, ready_at, due_at, has_parent)
      select i.id, s.namespace, 'parked', v_now + i.timeout_ms * interval '1 millisecond', v_now, 'epoch', layover.pick_due(f->'armed', v_now), not i.is_detached
        from item i join made m on m.id = i.id order by i.id
  ), tags as (
    insert into layover.tag (run_id, namespace, name, value)
      select i.id, s.namespace, l.name, l.value
        from item i join made m on m.id = i.id cross join lateral jsonb_each_text(i.tags) as l (name, value)
  ), waits as (
    insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, until, child_run_id, child_bond)
      select run, i.path, i.occurrence, 'child', greatest(i.demanded_after, s.last_position), i.ordinal, i.until, coalesce(i.known_id, i.id), case when i.is_bound then 'cancel' end
        from item i left join made m on m.id = i.id
       where (m.id is not null or i.known_id is not null) and not i.is_detached
  ), recorded as (
    insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, value, recorded_at)
      select run, s.epoch, s.last_position + row_number() over (order by i.ordinal), 'start', i.path, i.occurrence,
          m.id is null, case when m.id is not null then '0' || jsonb_build_object('runId', i.id)::text
            else layover.describe_refused(i.refusal, i.workflow, i.user_id, i.id) end,
          greatest(v_now, s.last_record_at)
        from item i left join made m on m.id = i.id where i.is_detached or m.id is null and i.known_id is null
      returning octet_length(value) as bytes
  ), moved as (
    update layover.run_state t
       set last_position = t.last_position + o.count, history_bytes = t.history_bytes + o.bytes,
           last_record_at = case when o.count > 0 then greatest(v_now, t.last_record_at) else t.last_record_at end,
           children = t.children + (
             select count(*) from item i left join made m on m.id = i.id where m.id is not null or i.known_id is not null)::integer
      from (select count(*)::integer as count, coalesce(sum(h.bytes), 0)::integer as bytes from recorded h) as o
     where t.run_id = run
    returning o.count
  )
  select coalesce((select array_agg(m.id order by i.ordinal) from made m join item i on i.id = m.id), '{}'), (select o.count from moved o)
    into v_started, v_count;
  -- It looks after it has written, as start_run does: new runs of a workflow that is paused are held.
  update layover.run_state t set paused_at = v_now, is_held = true, due_at = null
    from layover.run r join layover.workflow_pause q on q.workflow = r.workflow and q.resumed_at is null
   where t.run_id = any (v_started) and r.id = t.run_id and q.namespace = t.namespace;
  if s.is_retried then -- who has ended already tells its end now
    update layover.pending b
       set child_status = t.status, child_value = coalesce(t.result, t.error), child_ended_at = v_now
      from layover.run_state t
     where b.run_id = run and b.child_status is null and not b.is_released and t.run_id = b.child_run_id and t.ended_at is not null;
    perform layover.share_value(b.child_run_id, run, b.child_value)
      from layover.pending b where b.run_id = run and b.child_value like '2stored.%';
  end if;
  return json_build_object('hasRecords', v_count > 0,
    'others', (select coalesce(json_agg(json_build_object('runId', u.id, 'turn', 1)), '[]') from unnest(v_started) as u (id)));
end $$;

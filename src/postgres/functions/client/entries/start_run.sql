-- nothing -> parked, when someone starts a run. The same call again (its run id) changes nothing. If the user's own id is taken, the run
-- that has it is the answer, if its input is the same, or if it was made from the same sent input. Its version may be another one, since
-- a start may be repeated after a deploy. If somebody has deleted the run of this call since, nothing is made anew. If its workflow is
-- paused, the run is paused, too.
--
-- `commitWithinMs`, `commitBy`: how long the transaction may last from now on, and until when, since its alarm was armed before this call
-- (refuse_late_commit). The earlier one counts. Code of an earlier release does not say `commitBy`.
--
-- From psql: select layover.start_run('{"workflow": "order", "version": 1, "input": {"id": "o1"}}').
create or replace function layover.start_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_namespace constant text := coalesce(p->>'namespace', 'default');
  v_run       constant uuid := coalesce((p->>'runId')::uuid, layover.new_id());
  v_input     constant text := coalesce(p->>'encodedInput', '0' || coalesce((p->'input')::text, 'null'));
  v_now       constant timestamptz := layover.now();
  v_ready     constant timestamptz := greatest(v_now, coalesce(layover.from_ms((p->>'startAt')::bigint),
                v_now + coalesce((p->>'delayMs')::bigint, 0) * interval '1 millisecond'));
  v_timeout   constant timestamptz := v_ready + (p->>'timeoutMs')::bigint * interval '1 millisecond';
  v_existing  uuid;
  v_is_held   boolean;
  v_same      boolean;
  v_version   integer;
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  if p->>'workflow' is null or p->>'version' is null then
    raise exception 'start_run needs a workflow and its version' using errcode = 'LO003',
      hint = 'select layover.start_run(''{"workflow": "order", "version": 1, "input": {}}'')';
  end if;
  -- Lists show the newest ids first, so an id from the future would stand first until its time. A day is more than a client's
  -- clock is wrong if its time zone is. (TypeScript checks that an id is of version 7.)
  if substr(v_run::text, 15, 1) = '7'
    and ('x' || translate(left(v_run::text, 13), '-', ''))::bit(48)::bigint > layover.to_ms(v_now) + 86400000
  then
    raise exception 'the runId % holds a time that is more than a day ahead of the database''s clock', v_run
      using errcode = 'LO006', hint = 'Correct the clock of the machine that made the runId, or leave the runId out.';
  end if;
  loop
    insert into layover.run (id, namespace, workflow, version, user_id, input, sent, is_input_parsed, traceparent,
        signature, created_at, starts_at, commit_by, timeout_ms)
      values (v_run, v_namespace, p->>'workflow', (p->>'version')::integer, p->>'id',
        v_input, p->>'sent', p ? 'encodedInput', p->>'traceparent',
        p->>'signature', v_now, nullif(v_ready, v_now),
        least(v_now + (p->>'commitWithinMs')::bigint * interval '1 millisecond', layover.from_ms((p->>'commitBy')::bigint)),
        (p->>'timeoutMs')::bigint)
      on conflict do nothing;
    exit when found;
    select r.id, r.namespace = v_namespace and r.workflow = p->>'workflow'
        and layover.is_same(r.input, r.sent, v_input, p->>'sent'), r.version
      into v_existing, v_same, v_version
      from layover.run r
     where r.id = v_run or (r.namespace = v_namespace and r.workflow = p->>'workflow' and r.user_id = p->>'id')
     order by (r.id = v_run) desc limit 1;
    if found then -- otherwise it was pruned meanwhile: insert again
      return json_build_object('outcome', case when v_existing = v_run and v_same then 'started'
          when v_same then 'exists' else 'conflict' end,
        'runId', case when v_same or v_existing <> v_run then v_existing end,
        'version', case when v_same then v_version end, 'now', layover.to_ms(v_now));
    end if;
  end loop;
  -- It looks after it has written to `run`, so its transaction holds the lock of a reader before it looks (await_starts).
  insert into layover.run_state (run_id, namespace, status, timeout_at, last_record_at, ready_at, due_at, paused_at, is_held)
    select v_run, v_namespace, 'parked', v_timeout, v_now, case when v_ready > v_now then v_ready else 'epoch' end,
        case when not d.is_held then layover.pick_due(p->'armed', v_ready) end, case when d.is_held then v_now end, d.is_held
      from (
        select exists (select from layover.workflow_pause q
          where q.namespace = v_namespace and q.workflow = p->>'workflow' and q.resumed_at is null) as is_held) as d
     where not exists (select from layover.deletion z where z.namespace = v_namespace and z.run_id = v_run)
    returning is_held into v_is_held;
  if not found then -- this call started the run before, and somebody has deleted the run since
    delete from layover.run r where r.id = v_run;
    return json_build_object('outcome', 'started', 'runId', v_run, 'version', (p->>'version')::integer, 'turn', null,
      'isDeleted', true, 'now', layover.to_ms(v_now));
  end if;
  insert into layover.tag (run_id, namespace, name, value)
    select v_run, v_namespace, l.name, l.value from jsonb_each_text(coalesce(p->'tags', '{}')) as l (name, value);
  if layover.is_wrongly_armed(p) then
    perform layover.check_armed(p);
  end if;
  return json_build_object('outcome', 'started', 'runId', v_run, 'turn', case when not v_is_held then 1 end, 'readyAt', layover.to_ms(v_ready),
    'now', layover.to_ms(v_now));
end $$;

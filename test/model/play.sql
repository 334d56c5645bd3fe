-- Plays a sequence of commands against layover's own functions, one after the other:
-- {"runs": [id …], "steps": [{"now", "fn", "p", "number", "lateUntil", "looks"} …]}. Answers for each step what it was
-- told and, where it looks, what is in the tables then and which rules the rows break.

-- The session's clock, and the number of its next signal. (Sequences are played side by side.)
create or replace function layover.now() returns timestamptz
language sql volatile as $$ select to_timestamp(current_setting('layover_test.now')::bigint / 1000.0) $$;

-- Nobody is amid a start: the other sequences, which are, play in namespaces of their own.
create or replace function layover.await_starts() returns boolean language sql as $$ select true $$;

alter table layover.signal alter number drop identity;
alter table layover.signal alter number set default current_setting('layover_test.number')::bigint;

create function layover_test.facts(runs uuid[]) returns json language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  return (select coalesce(json_object_agg(s.run_id, json_build_object(
      'code', (select json_build_array(r.version, r.signature) from layover.run r where r.id = s.run_id),
      'status', s.status, 'turn', s.turn, 'handed', s.handed_position, 'claims', s.claims,
      'beginnings', s.beginnings, 'begun', s.begun, 'losses', json_build_array(s.lost, case when s.lost = 0 then 0 else s.spared end),
      'dispatches', s.dispatches,
      'historyBytes', s.history_bytes, 'lastRecordAt', layover.to_ms(s.last_record_at), 'token', s.token, 'leasedUntil', layover.to_ms(s.leased_until),
      'readyAt', case when s.ready_at is not null then layover.to_ms(greatest(s.ready_at, v_now)) end, 'dueAt', layover.to_ms(s.due_at),
      'isBlocked', s.blocked is not null, 'pausedAt', layover.to_ms(s.paused_at), 'isHeld', s.paused_at is not null and s.is_held, 'timeoutAt', layover.to_ms(s.timeout_at),
      'operations', (select count(*) from layover.operation x where x.run_id = s.run_id), 'refusedBy', coalesce((
        select json_agg(f order by f) from jsonb_object_keys(s.refused_by) as f), '[]'),
      'setback', case when s.ended_at is null then layover_test.setback(s.run_id, '', 1, s.turn) end, 'closed', coalesce(to_json(s.closed), '[]'), 'says', s.custom_status, 'cancelledPosition', s.cancelled_position,
      'closing', json_build_array(s.is_closing, s.ends_as, s.is_interrupted, s.ending_position, s.undos, s.failed_undos),
      'endedAt', layover.to_ms(s.ended_at), 'result', s.result, 'error', s.error,
      'records', coalesce((
        select json_agg(json_build_array(h.kind, h.path, h.occurrence, h.value, h.is_failure,
            layover.to_ms(h.recorded_at), h.attempts) order by h.position)
          from layover.record h where h.run_id = s.run_id), '[]'),
      'rows', coalesce((
        select json_agg(json_build_array(b.path || '#' || b.occurrence, json_build_array(b.kind, b.demanded_after,
            b.signal, layover.to_ms(b.until), b.turn, b.attempts, b.claims, b.beginnings, b.begun,
            json_build_array(b.lost, case when b.lost = 0 then 0 else b.spared end), b.dispatches, b.is_queued,
            b.is_counted, b.is_released, case when b.position is null and b.ready_at is not null
              then layover.to_ms(greatest(b.ready_at, v_now)) end, b.token,
            layover.to_ms(b.leased_until), b.position,
            case when b.position is null then layover_test.setback(b.run_id, b.path, b.occurrence, b.turn) end)) order by (b.path || '#' || b.occurrence) collate "C")
          from layover.pending b
         where b.run_id = s.run_id and (not b.is_released or coalesce(b.leased_until > v_now, false))), '[]'),
      'maps', coalesce((
        select json_agg(json_build_array(m.path, json_build_array(m.counted, m.slots)) order by m.path collate "C")
          from layover.map m
         where m.run_id = s.run_id and exists (select from layover.pending b
           where b.run_id = s.run_id and b.map = m.path)), '[]'),
      'signals', coalesce((
        select json_agg(json_build_array(g.number, g.position) order by g.number)
          from layover.signal g where g.run_id = s.run_id and g.number < 1000000), '[]'),
      'callbacks', coalesce((
        select json_agg(json_build_array(k.path || '#' || k.occurrence, json_build_array(k.outcome, k.value,
            k.position)) order by (k.path || '#' || k.occurrence) collate "C")
          from layover.callback k where k.run_id = s.run_id), '[]'),
      'attempts', coalesce((
        select json_agg(a.path || '#' || a.occurrence || '/' || a.number
            order by (a.path || '#' || a.occurrence || '/' || a.number) collate "C")
          from layover.attempt a where a.run_id = s.run_id), '[]'))), '{}')
    from layover.run_state s where s.run_id = any(runs));
end $$;

-- When the scheduler will look at the runs of which a branch is at work.
create function layover_test.looks(runs uuid[]) returns jsonb language plpgsql volatile as $$
begin
  return (select coalesce(jsonb_object_agg(s.run_id, layover.to_ms(s.due_at)), '{}') from layover.run_state s
    where s.run_id = any(runs) and s.due_at is not null and exists (
      select from layover.pending b where b.run_id = s.run_id and b.kind = 'branch' and b.position is null
        and not b.is_queued and not b.is_released));
end $$;

-- Answers the due instant that upgrade_run has to keep for a run. It changes it if the run was blocked, or was to be looked at, but not when
-- the same call comes again.
create function layover_test.due_of_upgrade(p jsonb) returns timestamptz language plpgsql volatile as $$
begin
  return (
    select case
      when exists (select from layover.operation x where x.run_id = s.run_id and x.call_id = (p->>'callId')::uuid) then s.due_at
      when p ? 'armed' then (
        select coalesce(max(o.at) filter (where o.at <= layover.now() + interval '1 minute'), min(o.at))
          from (select layover.from_ms(i.at::bigint) as at from jsonb_array_elements_text(p->'armed') as i (at)) as o)
      else layover.now() end
      from layover.run_state s
     where s.run_id = (p->>'runId')::uuid and s.paused_at is null and (s.blocked is not null or s.due_at is not null));
end $$;

-- Signals that nobody waits for: some that claims offer, and more that they never do, with higher numbers.
create function layover_test.flood(p jsonb) returns void language plpgsql volatile as $$
declare
  v_run   constant uuid := (p->>'runId')::uuid;
  v_more  constant bigint := (p->>'more')::bigint;
begin
  insert into layover.signal (run_id, id, number, name, payload, is_parsed, received_at)
    select v_run, gen_random_uuid(), (p->>'first')::bigint + n, 'green', 'x', true, layover.now()
      from generate_series(0, (p->>'offered')::integer - 1) as n
    union all
    select v_run, gen_random_uuid(), v_more + n, 'green', repeat('x', (p->>'bytes')::integer / (p->>'count')::integer), true,
        layover.now()
      from generate_series(1, (p->>'count')::integer) as n;
  update layover.run_state s set has_mail = true where s.run_id = v_run;
end $$;

create function layover_test.play(script jsonb) returns json language plpgsql volatile as $$
declare
  v_runs    constant uuid[] := array(select jsonb_array_elements_text(script->'runs')::uuid);
  v_answers json[] := '{}';
  v_answer  json;
  v_step    jsonb;
  v_looks   jsonb;
  v_due_at  timestamptz;
  v_broken  text[];
begin
  for v_step in select s from jsonb_array_elements(script->'steps') as s loop
    perform set_config('layover_test.now', v_step->>'now', false),
      set_config('layover_test.number', v_step->>'number', false);
    begin
      if v_step->>'fn' = 'flood' then
        perform layover_test.flood(v_step->'p');
        v_answer := null;
      else
        v_looks := case when v_step->>'fn' = 'finish_turns' then layover_test.looks(v_runs) end;
        v_due_at := case when v_step->>'fn' = 'upgrade_run' then layover_test.due_of_upgrade(v_step->'p') end;
        execute format('select layover.%I($1)', v_step->>'fn') into v_answer using v_step->'p';
      end if;
    exception when others then
      v_answer := json_build_object('sqlState', sqlstate, 'message', sqlerrm);
    end;
    if (v_step->>'looks')::boolean then
      v_broken := layover_test.violations(v_runs, layover.from_ms((v_step->>'lateUntil')::bigint));
      if v_step->>'fn' = 'finish_turns' and exists (
        select from jsonb_each_text(v_looks) as was join jsonb_each_text(layover_test.looks(v_runs)) as is_now
          on is_now.key = was.key where is_now.value::bigint > was.value::bigint) then
        v_broken := v_broken || text 'a finish does not put off the look at a branch';
      end if;
      if v_answer->>'outcome' = 'upgraded' and exists (
        select from layover.run_state s join layover.operation x using (run_id)
         where s.run_id = (v_answer->>'runId')::uuid and x.call_id = (v_step->'p'->>'callId')::uuid
           and s.turn = (v_step->'p'->>'turn')::integer + 1 and x.asked_at = layover.now() and s.due_at is distinct from v_due_at) then
        v_broken := v_broken || text 'a run that was upgraded is looked at within two minutes, if it was to be looked at';
      end if;
      v_answer := json_build_object('answer', v_answer, 'facts', layover_test.facts(v_runs), 'violations', v_broken);
    else
      v_answer := json_build_object('answer', v_answer, 'facts', null, 'violations', null);
    end if;
    v_answers := v_answers || v_answer;
  end loop;
  return array_to_json(v_answers);
end $$;

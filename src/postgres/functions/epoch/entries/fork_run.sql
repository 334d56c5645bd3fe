-- nothing -> parked and ready: a new run with a copy of the history of a run that is over, up to a step. The old run stays as it is. What was
-- copied is never undone by the new run. The new run has the tags of the old one, and no mail; the user's own id stays with the old one. Where the
-- old run waited for a run that it had invoked, it is not forked: that run is not the new one's.
--
-- {"runId", "from": {"path", "occurrence"}, "newRunId", "id", "encodedInput", "epoch"}. The same call again (its newRunId) answers the same,
-- and the turn of the new run while that may be claimed: the first answer may have been lost.
--
-- From psql: select layover.fork_run('{"runId": "…", "from": {"path": "charge", "occurrence": 1}}').
create or replace function layover.fork_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run      constant uuid := layover.find_run(p);
  v_new      constant uuid := coalesce((p->>'newRunId')::uuid, layover.new_id());
  v_now      timestamptz;
  v_kept     integer;
  v_positions integer[];
  v_segments jsonb;
  v_given    jsonb;
  v_answer   jsonb;
  s          record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select t.epoch, t.ended_at, t.namespace into s from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  elsif exists (select from layover.run r join layover.epoch e on e.run_id = r.id and e.epoch = 1 and e.why = 'forked' where r.id = v_new)
    or exists (select from layover.deletion z where z.namespace = s.namespace and z.run_id = v_new)
  then
    return jsonb_strip_nulls(jsonb_build_object('outcome', 'forked', 'runId', v_new,
      'turn', (select t.turn from layover.run_state t where t.run_id = v_new and layover.is_ready(t, layover.now()))));
  end if;
  v_now := layover.now();
  v_kept := layover.find_cut(v_run, s.epoch, p->'from');
  v_answer := case
    when (p->>'epoch')::integer <> s.epoch then jsonb_build_object('outcome', 'epoch_changed', 'epoch', s.epoch)
    when s.ended_at is null then jsonb_build_object('outcome', 'not_applicable',
      'status', (select layover.run_status(t) from layover.run_state t where t.run_id = v_run))
    else coalesce(layover.refuse_cut(v_run, s.epoch, v_kept), layover.find_open_child(v_run, s.epoch, v_kept)) end;
  if v_answer is not null then
    return v_answer || jsonb_build_object('runId', v_run);
  end if;
  perform layover.keep_timeout(v_run);
  v_positions := array(select generate_series(1, v_kept));
  v_given := layover.given_of(v_run, s.epoch, v_positions, null, null);
  v_segments := layover.cut_segments(layover.segments_of(v_run, s.epoch), v_positions, jsonb_build_object('run', v_new, 'epoch', 1,
    'at', layover.to_ms(v_now), 'shift', layover.to_ms(v_now) - layover.to_ms(s.ended_at)));
  insert into layover.run (id, namespace, workflow, version, user_id, input, sent, is_input_parsed, traceparent, signature, created_at, timeout_ms,
      scheduled)
    select v_new, r.namespace, r.workflow, r.version, p->>'id', coalesce(p->>'encodedInput', e.input, r.input),
        case when not p ? 'encodedInput' and e.input is null then r.sent end,
        p ? 'encodedInput' or coalesce(e.is_input_parsed, r.is_input_parsed), r.traceparent, r.signature, v_now, r.timeout_ms,
        r.scheduled
      from layover.run r left join layover.epoch e on e.run_id = r.id and e.epoch = s.epoch where r.id = v_run
    on conflict do nothing;
  if not found then
    return json_build_object('outcome', 'conflict', 'runId', v_run);
  end if;
  insert into layover.epoch (run_id, epoch, why, is_input_parsed, began_at, kept, segments, before)
    select v_new, 1, 'forked', r.is_input_parsed, v_now, cardinality(v_positions), v_segments,
        case when v_given is not null then jsonb_build_object('given', v_given) end
      from layover.run r where r.id = v_new;
  perform layover.copy_history(v_run, s.epoch, v_new, 1, v_positions, null);
  perform layover.share_values(v_run, v_new);
  perform layover.note_scheduled_run(v_new);
  insert into layover.tag (run_id, namespace, name, value)
    select v_new, l.namespace, l.name, l.value from layover.tag l where l.run_id = v_run;
  insert into layover.run_state (run_id, namespace, status, epoch, timeout_at, last_record_at, ready_at, due_at, last_position,
      handed_position, history_bytes, closed)
    select v_new, s.namespace, 'parked', 1, v_now + r.timeout_ms * interval '1 millisecond', greatest(v_now, max(h.recorded_at)), 'epoch',
        layover.pick_due(p->'armed', v_now), cardinality(v_positions), cardinality(v_positions) - 1, coalesce(sum(octet_length(h.value)), 0),
        array_agg(distinct regexp_replace(h.path, '^.*/', '')) filter (where h.kind = 'close' and substr(h.value, 2) = 'true')
      from layover.run r left join layover.record h on h.run_id = r.id and h.epoch = 1 where r.id = v_new group by r.id;
  perform layover.check_armed(p);
  return json_build_object('outcome', 'forked', 'runId', v_new, 'turn', 1);
end $$;

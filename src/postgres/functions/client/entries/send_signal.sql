-- parked -> parked and ready, when the run waits for this signal. Stores a signal in arrival order, whether or not anyone waits. The same
-- call (its signalId) or the same dedupeId again changes nothing, and gets the same answer, also once the run is over. While nobody has
-- claimed the turn that the run is ready for, the same call again is told that turn.
--
-- From psql: select layover.send_signal('{"runId": "…", "name": "address", "payload": {"city": "Bonn"}}').
create or replace function layover.send_signal(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run   constant uuid := layover.find_run(p);
  v_now   timestamptz;
  v_ready boolean := false;
  v_count integer;
  v_bytes bigint;
  s       record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select t.status, t.turn, t.ready_at, t.closed, layover.may_be_due(t) as may_be_due into s
    from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  elsif exists (select from layover.signal g where g.run_id = v_run and g.id = (p->>'signalId')::uuid) then
    return json_build_object('outcome', 'sent', 'runId', v_run, -- the answer that told of the turn may have been lost
      'turn', case when s.status = 'parked' and s.ready_at <= layover.now() and s.may_be_due then s.turn end);
  elsif exists (select from layover.signal g
      where g.run_id = v_run and g.name = p->>'name' and g.dedupe_id = p->>'dedupeId') then
    return json_build_object('outcome', 'duplicate', 'runId', v_run);
  elsif layover.is_over(s.status) then
    return json_build_object('outcome', 'over', 'runId', v_run, 'status', s.status);
  elsif p->>'name' = any (s.closed) then
    return json_build_object('outcome', 'closed', 'runId', v_run);
  end if;
  v_now := layover.now();
  insert into layover.signal (run_id, id, dedupe_id, name, payload, is_parsed, received_at)
    values (v_run, coalesce((p->>'signalId')::uuid, layover.new_id()), p->>'dedupeId', p->>'name',
      coalesce(p->>'encodedPayload', '0' || coalesce((p->'payload')::text, 'null')), p ? 'encodedPayload', v_now);
  select count(*), sum(octet_length(g.payload)) into v_count, v_bytes from layover.signal g
   where g.run_id = v_run and g.position is null;
  if v_count > 10000 or v_bytes > 16777216 then -- otherwise one run could fill the disk
    raise exception 'the run % has not taken % signals of % bytes, and may keep 10000 of 16777216', v_run, v_count, v_bytes
      using errcode = 'LO007', hint = 'Send again when the run has taken some.';
  end if;
  v_ready := s.status = 'parked' and (s.ready_at is null or s.ready_at > v_now) and layover.has_answer(v_run);
  update layover.run_state t
     set has_mail = true,
         ready_at = case when v_ready then 'epoch' else t.ready_at end,
         due_at = case when v_ready and layover.may_be_due(t)
           then least(t.due_at, layover.pick_due(p->'armed', v_now)) else t.due_at end
   where t.run_id = v_run;
  perform layover.check_armed(p);
  return json_build_object('outcome', 'sent', 'runId', v_run, 'now', layover.to_ms(v_now),
    'turn', case when v_ready and s.may_be_due then s.turn end);
end $$;

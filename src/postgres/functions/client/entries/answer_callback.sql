-- parked -> parked and ready, when the run waits for this callback. Stores the answer to a callback, even before its wait is recorded.
--
-- The first answer wins. If the same answer comes again, it is told the same, and the turn that the run is ready for, while nobody has
-- claimed it: the answer that told of it may have been lost. Whoever has only the callback's link has no key.
create or replace function layover.answer_callback(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run  constant uuid := (p->>'runId')::uuid;
  v_now  timestamptz;
  v_until timestamptz;
  v_waits boolean;
  s      layover.run_state;
  known  record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select t.* into s from layover.run_state t where t.run_id = v_run and t.namespace = p->>'namespace' for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  select k.outcome, k.value, k.sent into known from layover.callback k
   where k.run_id = v_run and k.epoch = (p->>'epoch')::integer and k.path = p->>'path'
     and k.occurrence = (p->>'occurrence')::integer;
  if found then
    if known.outcome = 'expired' then
      return json_build_object('outcome', 'expired');
    elsif (known.outcome = p->>'outcome' and layover.is_same(known.value, known.sent, p->>'value', p->>'sent')) is not true then
      return json_build_object('outcome', 'conflict');
    end if;
    return json_build_object('outcome', 'answered',
      'turn', case when s.status = 'parked' and s.ready_at <= layover.now() and layover.may_be_due(s) then s.turn end);
  elsif layover.takes_no_answer(s, p) then
    return json_build_object('outcome', 'over');
  end if;
  v_now := layover.now();
  select b.until into v_until from layover.pending b
   where b.run_id = v_run and b.path = p->>'path' and b.occurrence = (p->>'occurrence')::integer
     and b.kind = 'callback' and not b.is_released;
  v_waits := found;
  if v_until < v_now or (v_until = v_now and s.status = 'running') then -- its turn may be recording the timeout
    return json_build_object('outcome', 'expired');
  end if;
  insert into layover.callback (run_id, epoch, path, occurrence, outcome, value, sent, answered_at)
    values (v_run, (p->>'epoch')::integer, p->>'path', (p->>'occurrence')::integer, p->>'outcome', p->>'value', p->>'sent', v_now);
  v_waits := v_waits and s.status = 'parked' and (s.ready_at is null or s.ready_at > v_now);
  update layover.run_state t
     set has_mail = true,
         ready_at = case when v_waits then 'epoch' else t.ready_at end,
         due_at = case when v_waits and layover.may_be_due(t)
           then least(t.due_at, layover.pick_due(p->'armed', v_now)) else t.due_at end
   where t.run_id = v_run;
  perform layover.check_armed(p);
  return json_build_object('outcome', 'answered', 'now', layover.to_ms(v_now),
    'turn', case when v_waits and layover.may_be_due(s) then s.turn end);
end $$;

-- What a turn of a claimed run needs to know: the history beyond what its process holds, and what could be taken.
create or replace function layover.describe_run(c jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := (c->>'runId')::uuid;
  v_now     constant timestamptz := layover.now();
  v_have    integer;
  v_records json;
  v_pending json;
  v_voids   boolean;
  s         record;
begin
  select t.epoch, t.turn, t.last_position, t.handed_position, t.claims, t.timeout_at, t.last_record_at, t.leased_until,
      t.history_bytes
    into s
    from layover.run_state t where t.run_id = v_run;
  v_have := case when (c->'have'->>'epoch')::integer = s.epoch
    and (c->'have'->>'position')::integer <= s.last_position then (c->'have'->>'position')::integer end;
  if s.last_position > coalesce(v_have, 0) then
    v_records := layover.read_records(v_run, s.epoch, coalesce(v_have, 0), s.last_position);
  end if;
  loop
    select json_agg(json_build_object('kind', b.kind, 'path', b.path, 'occurrence', b.occurrence,
          'demandedAfter', b.demanded_after, 'until', layover.to_ms(b.until), 'attempts', b.attempts,
          'position', b.position, 'isReleased', b.is_released) order by b.ordinal),
        bool_or(b.is_released and (b.leased_until is null or b.leased_until <= v_now))
      into v_pending, v_voids
      from layover.pending b
     where b.run_id = v_run and (v_have is null or b.kind = 'retry' or b.is_released);
    exit when v_voids is not true;
    delete from layover.pending b
     where b.run_id = v_run and b.is_released and (b.leased_until is null or b.leased_until <= v_now);
  end loop;
  return json_build_object('outcome', 'claimed', 'now', layover.to_ms(v_now), 'epoch', s.epoch, 'turn', s.turn,
    'have', v_have, 'position', s.last_position, 'handedPosition', s.handed_position,
    'lastRecordAt', layover.to_ms(s.last_record_at), 'timeoutAt', layover.to_ms(s.timeout_at), 'claims', s.claims,
    'leasedUntil', layover.to_ms(s.leased_until), 'historyBytes', s.history_bytes,
    'records', v_records, 'pending', v_pending,
    'signals', (
      select json_agg(json_build_object('number', g.number, 'name', g.name, 'payload', g.payload,
          'isParsed', g.is_parsed, 'receivedAt', layover.to_ms(g.received_at)) order by g.number)
        from (select h.number, h.name, h.payload, h.is_parsed, h.received_at,
                  row_number() over (partition by h.name order by h.number) as rank
                from layover.signal h where h.run_id = v_run and h.position is null) as g
       where g.rank <= 20),
    'callbacks', (
      select json_agg(json_build_object('path', k.path, 'occurrence', k.occurrence, 'outcome', k.outcome,
          'value', k.value, 'answeredAt', layover.to_ms(k.answered_at)))
        from layover.callback k where k.run_id = v_run and k.epoch = s.epoch and k.position is null),
    'run', case when v_have is null then layover.read_run(v_run) end);
end $$;

-- Answers the turns of a delivery's runs that are ready and that nobody has claimed. The answer that told of them may have been lost.
create or replace function layover.turns_of_deeds(deeds jsonb, at timestamptz) returns jsonb
language sql volatile as $$
  select coalesce(jsonb_agg(jsonb_build_object('runId', t.run_id, 'turn', t.turn, 'readyAt', layover.to_ms(t.ready_at)) order by t.run_id), '[]')
    from layover.run_state t
   where t.run_id in (select (d.deed->>'runId')::uuid from jsonb_array_elements(deeds) as d (deed))
     and t.status = 'parked' and (t.ready_at <= at or t.turn = 1) and layover.may_run(t, at)
$$;

-- Stores an attempt for each step that a turn has carried out, where the turn's records are dropped. The step is carried out again. If the
-- run ends before that, the step is undone, and its undo is told that the outcome is unknown. An attempt that has failed keeps its error.
create or replace function layover.keep_dropped(run uuid, epoch integer, f jsonb) returns void
language plpgsql volatile as $$
begin
  if f ? 'attempt' then
    perform layover.record_attempt(run, epoch, (f->'attempt') - 'retryInMs');
  end if;
  insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
    select run, keep_dropped.epoch, d.value->>'path', (d.value->>'occurrence')::integer, coalesce((d.value->>'attempts')::integer, 1),
        layover.from_ms(coalesce(d.value->>'beganAt', d.value->>'at')::bigint), layover.from_ms((d.value->>'at')::bigint),
        '0{"name": "Error", "code": "interrupted", "message": "it was carried out, and its result was dropped, since something came meanwhile"}'
      from jsonb_array_elements(f->'records') as d (value)
     where d.value->>'kind' = 'step'
    on conflict do nothing;
end $$;

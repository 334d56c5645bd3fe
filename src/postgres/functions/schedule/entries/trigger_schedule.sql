-- Starts a run of a schedule now, beside its calendar. `runId` makes it repeatable. It obeys `overlap`, unless `ignoresOverlap`. Who asked (`by`),
-- and the `reason`, are kept with the run.
create or replace function layover.trigger_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_run    constant uuid := coalesce((p->>'runId')::uuid, layover.new_id());
  v        constant layover.schedule := layover.lock_schedule(p);
  v_answer jsonb;
begin
  if v.name is null then
    return layover.answer_schedule(p, 'unknown');
  elsif exists (select from layover.run r where r.id = v_run) then
    return (layover.answer_schedule(p, 'triggered')::jsonb || jsonb_build_object('runId', v_run, 'turn', null))::json;
  end if;
  while layover.forget_ended_runs(v) loop
    continue;
  end loop;
  v_answer := layover.start_scheduled(p, v, v_now, v.name || '@' || v_run, v_run);
  if not v_answer ? 'run' then
    return (layover.answer_schedule(p, 'skipped')::jsonb || jsonb_build_object('skip', v_answer))::json;
  end if;
  update layover.schedule o set last_run_id = v_run, last_fired_at = v_now, fired = o.fired + 1, skipped_in_row = 0
   where o.namespace = v.namespace and o.name = v.name;
  perform layover.keep_operation(v_run, 'trigger', p, json_build_object('outcome', 'triggered', 'runId', v_run));
  return (layover.answer_schedule(p, 'triggered')::jsonb || jsonb_build_object('runId', v_run, 'turn', v_answer->'run'->'turn'))::json;
end $$;

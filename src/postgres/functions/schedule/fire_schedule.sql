-- due -> fired or skipped, with the next instant, when its instant has come. The caller has locked the row, and the instant has come.
--
-- Of several instants that have passed, `catchUp` "latest" fires the last one; "none" does so only within five minutes of it; "all" fires
-- each, up to 100. What is left out counts as one skip (`missed`). An instant that is only put off by its jitter is not missed.
-- Answers {"runs", "skips", "stopped"}. `stopped`: why it
-- has no next instant, though its cron pattern must have one (why_stopped).
create or replace function layover.fire_schedule(p jsonb, v layover.schedule) returns jsonb
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_last   constant timestamptz := layover.last_instant(v.name, v.definition, v.next_at, v_now);
  v_is_late constant boolean := coalesce(v.definition->>'catchUp' = 'none', false)
    and v_last + layover.jitter_of(v.name, v.definition, v_last) < v_now - interval '5 minutes';
  v_runs   jsonb := '[]';
  v_skips  jsonb := '[]';
  v_count  integer := 0;
  v_answer jsonb;
begin
  loop
    if v_count = 100 or v.next_at < v_last and coalesce(v.definition->>'catchUp', 'latest') <> 'all' then
      v := layover.skip_firing(v, v.next_at, jsonb_build_object('cause', 'missed'));
      v_skips := v_skips || jsonb_build_object('schedule', v.name, 'inRow', v.skipped_in_row, 'skip', v.last_skip);
      v.next_at := v_last;
      continue when v_count < 100 and not v_is_late;
      v_answer := null;
    elsif v_is_late then
      v_answer := jsonb_build_object('cause', 'missed');
    else
      v_answer := layover.start_scheduled(p, v, v.next_at,
        v.name || '@' || to_char(v.next_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), layover.new_id());
      v_count := v_count + 1;
    end if;
    if v_answer ? 'run' then
      v.fired := v.fired + 1;
      v.skipped_in_row := 0;
      v.last_fired_at := v_now;
      v.last_run_id := v_answer->'run'->>'runId';
      v_runs := v_runs || (v_answer->'run');
    elsif v_answer is not null then
      v := layover.skip_firing(v, v.next_at, v_answer);
      v_skips := v_skips || jsonb_build_object('schedule', v.name, 'inRow', v.skipped_in_row, 'skip', v.last_skip);
    end if;
    v.last_at := v.next_at;
    v := layover.set_calendar(v, v.last_at, p->'armed');
    exit when v.last_at >= v_last;
  end loop;
  update layover.schedule o
     set next_at = v.next_at, fires_at = v.fires_at, due_at = v.due_at, last_at = v.last_at, last_fired_at = v.last_fired_at,
       last_run_id = v.last_run_id, fired = v.fired, skipped = v.skipped, skipped_in_row = v.skipped_in_row, last_skip = v.last_skip
   where o.namespace = v.namespace and o.name = v.name;
  return jsonb_build_object('runs', v_runs, 'skips', v_skips, 'stopped', layover.why_stopped(v));
end $$;

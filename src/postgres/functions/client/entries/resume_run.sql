-- paused -> as it was before the pause. The run's timeout moves on by as long as the pause took. Whatever came or ended meanwhile counts
-- now: the scheduler looks at the run within a minute, and it answers what may be claimed at once. What became ready in the pause, or
-- lost its lease in it, is ready from now on: nobody was to look at it before. A blocked run may be claimed, too: the right code may have
-- come meanwhile.
--
-- With `holds` only a run that was paused with its workflow is resumed.
--
-- From psql: select layover.resume_run('{"runId": "…", "by": "ada"}').
create or replace function layover.resume_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_now     timestamptz;
  v_verdict json;
  v_ready   json;
  s         record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select t.ended_at, case when not p ? 'holds' or t.is_held then t.paused_at end as paused_at, t.turn, t.ready_at, t.leased_until, t.blocked into s
    from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null and (s.ended_at is not null or s.paused_at is null) then
    v_verdict := layover.keep_operation(v_run, 'resume', p, json_build_object('outcome', 'not_applicable', 'runId', v_run,
      'status', (select layover.run_status(t) from layover.run_state t where t.run_id = v_run)));
  elsif v_verdict is null then
    v_now := layover.now();
    update layover.run_state t
       set paused_at = null, timeout_at = t.timeout_at + greatest(v_now - t.paused_at, interval '0'),
           ready_at = case when t.ready_at <= v_now then 'epoch' else t.ready_at end,
           leased_until = case when t.token is not null then greatest(t.leased_until, v_now) end,
           due_at = layover.pick_due(p->'armed', v_now + case when p ? 'armed' then interval '1 minute' else interval '0' end)
     where t.run_id = v_run;
    perform from layover.pending b where b.run_id = v_run order by b.path, b.occurrence for update;
    update layover.pending b
       set ready_at = case when b.ready_at <= v_now then 'epoch' else b.ready_at end,
           leased_until = case when b.token is not null then greatest(b.leased_until, v_now) end
     where b.run_id = v_run and (b.ready_at <= v_now or b.leased_until < v_now);
    v_verdict := layover.keep_operation(v_run, 'resume', p, json_build_object('outcome', 'resumed', 'runId', v_run));
    v_ready := json_build_object(
      'turn', case when s.blocked is not null or coalesce(s.leased_until, s.ready_at) <= v_now then s.turn end,
      'branches', case when s.blocked is null then layover.ready_branches(v_run, v_now) end);
  end if;
  perform layover.check_armed(p);
  return case when v_ready is null then v_verdict else (v_verdict::jsonb || v_ready::jsonb)::json end;
end $$;

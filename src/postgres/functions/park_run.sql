-- When a parked run is ready again, and when the scheduler must look. Under the run's lock, after the demands are
-- recorded: a signal or an answer that came in the meantime makes it ready now.
create or replace function layover.park_run(run uuid, armed jsonb) returns void
language plpgsql volatile as $$
declare
  v_now   constant timestamptz := layover.now();
  v_ready timestamptz;
  v_need  timestamptz;
begin
  select min(case when b.kind = 'retry' then b.ready_at when b.kind <> 'branch' then b.until end),
      min(coalesce(b.leased_until, b.ready_at)) filter (where b.kind = 'branch' and b.position is null
        and not b.is_queued and not b.is_released)
    into v_ready, v_need
    from layover.pending b where b.run_id = run;
  if layover.has_answer(run) then
    v_ready := v_now;
  end if;
  update layover.run_state t
     set ready_at = least(v_ready, case when t.cancelled_position is null then t.timeout_at end),
         due_at = case when t.paused_at is null and t.blocked is null then layover.pick_due(armed,
           least(v_ready, v_need, case when t.cancelled_position is null then t.timeout_at end)) end
   where t.run_id = run;
end $$;

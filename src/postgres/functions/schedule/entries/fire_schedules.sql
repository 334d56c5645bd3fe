-- Fires schedules that are due: each starts its run, and moves on to its next instant, in one transaction. `names`: what list_due has
-- listed. A schedule that is looked at early moves to its instant. One whose workflow is paused is not looked at any more: resume_workflow
-- has it looked at again.
--
-- `left`: some were `locked`, the call has started a thousand runs already, or a schedule had very many runs that are over
-- (forget_ended_runs). They stay due, and the scheduler looks again soon.
--
-- `listsNext` asks for the next page in the same answer (`next`): the schedules that are still due. It leaves out those that somebody has
-- locked, and those that `except` names.
--
-- If the answer of such a call is lost, the schedules have moved on when it is sent again. It then answers the runs that they have started and
-- that nobody has claimed (list_fired).
create or replace function layover.fire_schedules(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now   constant timestamptz := layover.now();
  v_runs  jsonb := '[]';
  v_skips jsonb := '[]';
  v_stopped jsonb := '[]';
  v_left  integer := 0;
  v_locked jsonb := '[]';
  v_fired jsonb;
  v_name  text;
  v       layover.schedule;
begin
  perform layover.check_isolation();
  perform layover.check_environment(p);
  for v_name in select n from jsonb_array_elements_text(p->'names') as n order by n loop
    if jsonb_array_length(v_runs) >= 1000 then -- so that the call ends in time, whatever there is to catch up
      v_left := v_left + 1;
      continue;
    end if;
    select o.* into v from layover.schedule o where o.namespace = p->>'namespace' and o.name = v_name for update skip locked;
    if not found then
      v_left := v_left + 1;
      v_locked := v_locked || to_jsonb(v_name);
      continue;
    end if;
    if v.due_at is null or v.due_at > v_now then
      v_runs := v_runs || layover.list_fired(v);
    elsif not layover.is_carried_here(p, v.workflow, v.version) then
      continue; -- it was changed since it was listed
    elsif exists (select from layover.workflow_pause q
      where q.namespace = v.namespace and q.workflow = v.workflow and q.resumed_at is null)
    then
      update layover.schedule o set due_at = null where o.namespace = v.namespace and o.name = v.name;
    elsif v.fires_at > v_now then
      update layover.schedule o set due_at = layover.pick_due(p->'armed', v.fires_at) where o.namespace = v.namespace and o.name = v.name;
    elsif layover.forget_ended_runs(v) then
      v_left := v_left + 1;
    else
      v_fired := layover.fire_schedule(p, v);
      v_runs := v_runs || (v_fired->'runs');
      v_skips := v_skips || (v_fired->'skips');
      if v_fired->>'stopped' is not null then
        v_stopped := v_stopped || jsonb_build_object('schedule', v.name, 'reason', v_fired->'stopped');
      end if;
    end if;
  end loop;
  perform layover.check_armed(p);
  return json_build_object('now', layover.to_ms(layover.now()), 'runs', v_runs, 'skips', v_skips, 'stopped', v_stopped, 'left', v_left,
    'locked', v_locked, 'next', case when (p->>'listsNext')::boolean then layover.list_due_schedules(
      p || jsonb_build_object('except', coalesce(p->'except', '[]') || v_locked), v_now) end);
end $$;

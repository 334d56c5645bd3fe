-- Has the scheduler look again at the schedules of a workflow whose pause has ended. The caller has locked them
-- (lock_schedules), and has waited for all who have seen the pause (await_starts).
create or replace function layover.resume_schedules(p jsonb) returns void
language plpgsql volatile as $$
begin
  update layover.schedule o set due_at = layover.pick_due(p->'armed', o.fires_at)
   where o.namespace = coalesce(p->>'namespace', 'default') and o.workflow = p->>'workflow' and o.paused_at is null;
end $$;

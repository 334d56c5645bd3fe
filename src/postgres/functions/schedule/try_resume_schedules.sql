-- Has the scheduler look again at the schedules of a workflow whose pause has ended. The caller has locked them
-- (lock_schedules), and has waited for all who have seen the pause (await_starts).
--
-- Answers whether it was all of them. One that was made meanwhile, and that somebody has locked, is left out: whoever holds it may wait for
-- the caller. The same call again comes to it.
create or replace function layover.try_resume_schedules(p jsonb) returns boolean
language plpgsql volatile as $$
declare
  v_namespace constant text := coalesce(p->>'namespace', 'default');
  v_count     integer;
begin
  with free as (
    select o.namespace, o.name from layover.schedule o
     where o.namespace = v_namespace and o.workflow = p->>'workflow' and o.paused_at is null for update skip locked
  )
  update layover.schedule o set due_at = layover.pick_due(p->'armed', o.fires_at)
    from free where o.namespace = free.namespace and o.name = free.name;
  get diagnostics v_count = row_count;
  return v_count >= (
    select count(*) from layover.schedule o where o.namespace = v_namespace and o.workflow = p->>'workflow' and o.paused_at is null);
end $$;

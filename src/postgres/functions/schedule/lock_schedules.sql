-- Locks the schedules of a workflow, by name.
create or replace function layover.lock_schedules(p jsonb) returns void
language plpgsql volatile as $$
begin
  perform from layover.schedule o
    where o.namespace = coalesce(p->>'namespace', 'default') and o.workflow = p->>'workflow' order by o.name for update;
end $$;

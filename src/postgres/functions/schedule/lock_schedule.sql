-- Refuses a call that may not change a schedule, locks the schedule, and answers it. All its columns are null if there is none of that name.
create or replace function layover.lock_schedule(p jsonb) returns layover.schedule
language plpgsql volatile as $$
declare
  v layover.schedule;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  select o.* into v
    from layover.schedule o where o.namespace = coalesce(p->>'namespace', 'default') and o.name = p->>'name' for update;
  return v;
end $$;

-- Deletes a schedule, which its caller has locked, and what it knows of its runs. Rows that a retry has locked stay, and say nothing.
create or replace function layover.remove_schedule(v layover.schedule) returns void
language plpgsql volatile as $$
begin
  delete from layover.scheduled_run o
   where (o.namespace, o.schedule, o.run_id) in (
     select f.namespace, f.schedule, f.run_id from layover.scheduled_run f
      where f.namespace = v.namespace and f.schedule = v.name for update skip locked);
  delete from layover.schedule o where o.namespace = v.namespace and o.name = v.name;
end $$;

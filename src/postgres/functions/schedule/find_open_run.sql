-- Answers a run of a schedule that is not over: the one that it started last, or the oldest. Null: there is none.
create or replace function layover.find_open_run(v layover.schedule) returns uuid
language plpgsql volatile as $$
begin
  return case when exists (select from layover.run_state t where t.run_id = v.last_run_id and t.ended_at is null) then v.last_run_id
    else (
      select o.run_id from layover.scheduled_run o
       where o.namespace = v.namespace and o.schedule = v.name
         and exists (select from layover.run_state t where t.run_id = o.run_id and t.ended_at is null)
       order by o.run_id limit 1) end;
end $$;

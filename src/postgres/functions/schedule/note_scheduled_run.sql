-- Notes a run of a schedule that is not over: it has just started, it goes on after its end, or it is a fork. Any other run it leaves alone.
-- The caller has locked the run, or made it.
--
-- A row that is there already is locked. A firing that has seen the run's end therefore cannot forget the run now.
create or replace function layover.note_scheduled_run(run uuid) returns void
language plpgsql volatile as $$
begin
  insert into layover.scheduled_run (namespace, schedule, run_id)
    select r.namespace, v.name, r.id
      from layover.run r join layover.schedule v on v.namespace = r.namespace and v.name = r.scheduled->>'schedule'
     where r.id = run
    on conflict on constraint scheduled_run_pkey do update set run_id = excluded.run_id;
end $$;

-- Deletes all rows of a run. There are no foreign keys, so a table whose rows belong to a run must stand here. Its stored values are
-- deleted by the next sweep after an hour (sweep_values).
create or replace function layover.delete_rows(run uuid) returns void
language plpgsql volatile as $$
begin
  delete from layover.run_state t where t.run_id = run;
  delete from layover.pending b where b.run_id = run;
  delete from layover.map m where m.run_id = run;
  delete from layover.signal g where g.run_id = run;
  delete from layover.callback k where k.run_id = run;
  delete from layover.attempt a where a.run_id = run;
  delete from layover.setback w where w.run_id = run;
  delete from layover.record h where h.run_id = run;
  delete from layover.patch x where x.run_id = run;
  delete from layover.epoch e where e.run_id = run;
  delete from layover.tag l where l.run_id = run;
  delete from layover.operation x where x.run_id = run;
  update layover.stored_value o set look_at = layover.now() + interval '1 hour' where o.run_id = run; -- late calls are over by then
  delete from layover.run r where r.id = run;
end $$;

-- All rows of a run. There are no foreign keys: a table that belongs to a run is listed here.
create or replace function layover.delete_rows(run uuid) returns void
language plpgsql volatile as $$
begin
  delete from layover.run_state t where t.run_id = run;
  delete from layover.pending t where t.run_id = run;
  delete from layover.map t where t.run_id = run;
  delete from layover.signal t where t.run_id = run;
  delete from layover.callback t where t.run_id = run;
  delete from layover.attempt t where t.run_id = run;
  delete from layover.setback t where t.run_id = run;
  delete from layover.record t where t.run_id = run;
  delete from layover.tag t where t.run_id = run;
  delete from layover.run t where t.id = run;
end $$;

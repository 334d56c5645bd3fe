-- Deletes the histories of a run before the given epoch, so that a run which continues as new a million times keeps two of them.
create or replace function layover.forget_epochs(run uuid, first_kept integer) returns void
language plpgsql volatile as $$
begin
  delete from layover.record h where h.run_id = run and h.epoch < first_kept;
  delete from layover.attempt a where a.run_id = run and a.epoch < first_kept;
  delete from layover.callback k where k.run_id = run and k.epoch < first_kept;
  delete from layover.patch x where x.run_id = run and x.epoch < first_kept;
  delete from layover.epoch e where e.run_id = run and e.epoch < first_kept;
end $$;

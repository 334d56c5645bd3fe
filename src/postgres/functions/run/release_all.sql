-- Releases what a run waits for, but for cleanups if these go on: nothing of it is claimed any more, and no map counts it. A live lease may
-- still record its result.
create or replace function layover.release_all(run uuid, with_cleanups boolean) returns void
language plpgsql volatile as $$
begin
  perform from layover.pending b where b.run_id = run order by b.path, b.occurrence for update;
  update layover.pending b set is_released = true, is_queued = false, is_counted = false, map = null
   where b.run_id = run and (with_cleanups or not b.is_shielded);
  perform layover.keep_deleted(run);
  delete from layover.map m where m.run_id = run;
end $$;

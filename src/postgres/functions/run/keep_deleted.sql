-- Stores attempts for the runs that a run takes no end of any more, since their rows are released, and that are deleted already. What is
-- deleted later leaves its attempt by itself (delete_rows). Its caller has locked the run.
create or replace function layover.keep_deleted(run uuid) returns void
language plpgsql volatile as $$
begin
  perform layover.keep_untaken(run, b.path, b.occurrence, b.child_ended_at, b.child_ended_at)
    from layover.pending b
   where b.run_id = run and b.is_released and b.child_status is not null
     and not exists (select from layover.run r where r.id = b.child_run_id);
end $$;

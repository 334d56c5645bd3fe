-- Locks a run with all that it waits for, in the one lock order. Its callers need this where a set locks losers of a race before
-- branches of the same run, which come later in the set.
--
-- It reads rows by their key: a plan from a time of few runs would read all runs, for each of 10,000 children.
create or replace function layover.lock_run(run uuid) returns void
language plpgsql volatile set enable_seqscan = off as $$
begin
  perform from layover.run_state t where t.run_id = run for update;
  perform from layover.pending b where b.run_id = run order by b.path, b.occurrence for update;
end $$;

-- A run with all that it still waits for, in the one lock order: for who needs several of its rows in another one.
create or replace function layover.lock_run(run uuid) returns void
language plpgsql volatile as $$
begin
  perform from layover.run_state t where t.run_id = run for update;
  perform from layover.pending b where b.run_id = run and b.position is null order by b.path, b.occurrence for update;
end $$;

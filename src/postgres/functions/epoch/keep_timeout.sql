-- Writes down how long a run may take, before its timeout is set anew or replaced by another instant. Runs that were started before migration
-- 22 do not have it in their row: there it is what lay between their start and their timeout, with a delay of the start and with pauses.
create or replace function layover.keep_timeout(run uuid) returns void
language plpgsql volatile as $$
begin
  update layover.run r
     set timeout_ms = layover.to_ms(t.timeout_at) - layover.to_ms(r.created_at)
    from layover.run_state t
   where r.id = run and r.timeout_ms is null and t.run_id = r.id and t.timeout_at is not null
     and (t.cancelled_position is null or t.cancel_requested_at is null); -- while the run closes it is the end of the cleanups
end $$;

-- Whether the scheduler may have to look at a run. A run that is over, paused or blocked has no due instant.
create or replace function layover.may_be_due(t layover.run_state) returns boolean
language sql stable as $$ select t.ended_at is null and t.paused_at is null and t.blocked is null $$;

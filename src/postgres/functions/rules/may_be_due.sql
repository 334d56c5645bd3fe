-- Whether what happens to a run may bring its due instant nearer. A run that is over or paused has none. A blocked run has one only where a
-- new deployment tries it (move_due).
create or replace function layover.may_be_due(t layover.run_state) returns boolean
language sql stable as $$ select t.ended_at is null and t.paused_at is null and t.blocked is null $$;

-- Indexes for listing runs by status, newest first. No turn changes what they hold: `error` and `ended_at` are set once, at
-- the end of a run, so updates on the path of a step stay in place.

create index run_state_live on layover.run_state (namespace, run_id) where ended_at is null;
create index run_state_failed on layover.run_state (namespace, run_id) where error is not null;

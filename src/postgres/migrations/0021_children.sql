-- Runs that start others. A pending row of the kind 'child' waits for the end of a run that it has started; that end is kept in the row,
-- since the run may be started over or deleted before its parent looks.
alter table layover.run
  add column depth integer not null default 0, -- how many runs above it wait for it
  add column chain integer not null default 0; -- how many runs have led to it, each started by the one before

alter table layover.run_state
  add column has_parent boolean not null default false, -- a run waits for its end, or did; it never changes
  add column children integer not null default 0;       -- how many runs it has started

alter table layover.pending
  add column child_run_id uuid,          -- the run that it waits for
  add column child_status text,          -- how that run has ended; null: it has not
  add column child_value text,           -- its result or its error
  add column child_ended_at timestamptz;

alter table layover.pending drop constraint pending_kind_check;
alter table layover.pending add constraint pending_kind_check
  check (kind in ('branch', 'retry', 'sleep', 'signal', 'callback', 'child')) not valid;
alter table layover.record drop constraint record_kind_check;
alter table layover.record add constraint record_kind_check
  check (kind in ('step', 'sleep', 'signal', 'callback', 'cancellation', 'close', 'closing', 'ending', 'start', 'child')) not valid;

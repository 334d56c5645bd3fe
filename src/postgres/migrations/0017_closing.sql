-- The record that tells a handler of its cancel. Code of an earlier release does not know it, and refuses the run.
alter table layover.record drop constraint record_kind_check;
alter table layover.record add constraint record_kind_check
  check (kind in ('step', 'sleep', 'signal', 'callback', 'cancellation', 'close', 'closing')) not valid;

-- Whether the row was demanded in `step.cleanup`: it outlives the cancel.
alter table layover.pending add column is_shielded boolean not null default false;

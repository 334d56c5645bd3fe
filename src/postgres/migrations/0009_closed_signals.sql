-- The names of signals that a run takes no more, in the order in which it closed them; null: none.

alter table layover.run_state add column closed text[];
alter table layover.record drop constraint record_kind_check;
alter table layover.record add constraint record_kind_check
  check (kind in ('step', 'sleep', 'signal', 'callback', 'cancellation', 'close')) not valid;

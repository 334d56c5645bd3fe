-- A run that ends and owes undos.
alter table layover.run_state
  add column is_closing boolean not null default false,     -- its handler has ended; nothing new begins until the last lease is over
  add column is_interrupted boolean not null default false, -- a turn was begun since its last finish, and was not finished
  add column ending_position integer,                       -- where its history says how it ends, and which undos it owes
  add column undos integer,                                 -- how many it owes
  add column failed_undos integer;                          -- how many of them failed for good

-- Whether somebody has claimed the branch: it may have had its effect.
alter table layover.pending add column has_begun boolean not null default false;

alter table layover.record drop constraint record_kind_check;
alter table layover.record add constraint record_kind_check
  check (kind in ('step', 'sleep', 'signal', 'callback', 'cancellation', 'close', 'closing', 'ending')) not valid;

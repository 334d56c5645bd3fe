-- Steps that run at most once: an attempt is written down before its body begins.
alter table layover.run_state add column begun text; -- the last attempt of an inline step that was written down so: its number and its place
alter table layover.pending add column begun text;   -- the same of a branch

--! concurrent
create index concurrently run_parent on layover.run (parent_run_id, id) where parent_run_id is not null;

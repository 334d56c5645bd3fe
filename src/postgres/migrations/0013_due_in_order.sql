--! concurrent
create index concurrently run_state_due_in_order on layover.run_state (namespace, due_at, run_id) where due_at is not null;

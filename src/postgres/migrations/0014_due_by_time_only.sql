-- Runs that are due at one instant were sorted anew for each page of a tick. run_state_due_in_order has them in order.
drop index layover.run_state_due;

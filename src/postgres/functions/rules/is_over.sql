-- Whether a run with this status has ended.
create or replace function layover.is_over(status text) returns boolean
language sql immutable as $$ select status in ('completed', 'failed', 'cancelled') $$;

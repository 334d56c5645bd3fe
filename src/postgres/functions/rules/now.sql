-- The database owns the clock, in milliseconds. Read it after the lock. Tests replace this function to turn it.
create or replace function layover.now() returns timestamptz
language sql volatile as $$ select date_trunc('milliseconds', clock_timestamp()) $$;

-- Answers the database's time, in milliseconds: the only clock of all functions. Read it after the lock. Tests replace this function.
create or replace function layover.now() returns timestamptz
language sql volatile as $$ select date_trunc('milliseconds', clock_timestamp()) $$;

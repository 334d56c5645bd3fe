-- The database's time, for a process that is about to arm its first alarm.
create or replace function layover.read_clock() returns json
language sql volatile as $$ select json_build_object('now', layover.to_ms(layover.now())) $$;

-- Reads a time as calls carry it: milliseconds since 1970.
create or replace function layover.from_ms(ms bigint) returns timestamptz
language sql immutable as $$ select to_timestamp(ms / 1000.0) $$;

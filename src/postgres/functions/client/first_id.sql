-- Answers the lowest uuid of version 7 that was made at this time, in epoch milliseconds.
create or replace function layover.first_id(ms bigint) returns uuid
language sql immutable as $$ select (lpad(to_hex(ms), 12, '0') || '00000000000000000000')::uuid $$;

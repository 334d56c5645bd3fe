-- Answers the length of an array, and 0 for no array.
create or replace function layover.count_of(items jsonb) returns integer
language sql immutable as $$ select case when items is null then 0 else jsonb_array_length(items) end $$;

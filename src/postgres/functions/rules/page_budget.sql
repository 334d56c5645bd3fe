-- Answers the budget of bytes for a history, if the history does not fit in it. Null: all of it fits.
create or replace function layover.page_budget(bytes integer, records integer, budget bigint) returns bigint
language sql immutable as $$ select case when 2 * (bytes + 200 * records) > budget then budget end $$;

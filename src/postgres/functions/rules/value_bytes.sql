-- How many bytes a stored value has: also one that a store of the user's keeps, whose name tells it (store/reference.ts). A name is short, so
-- no large value is read for it.
create or replace function layover.value_bytes(value text) returns bigint
language sql immutable as $$
  select case when octet_length(value) < 1024
    then coalesce(substring(value from '^2stored\.(\d{1,12})\.')::bigint, octet_length(value))
    else octet_length(value) end
$$;

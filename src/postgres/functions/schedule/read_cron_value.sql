-- Answers the number for which a number or a name stands in a cron pattern. Null: it is no name.
create or replace function layover.read_cron_value(word text, low integer, names text[]) returns integer
language sql immutable as $$
  select case when word ~ '^[0-9]+$' then word::integer else array_position(names, lower(word)) - 1 + low end
$$;

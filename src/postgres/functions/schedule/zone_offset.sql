-- Answers how far the clocks of a timezone are ahead of UTC at an instant.
create or replace function layover.zone_offset(timezone text, at timestamptz) returns interval
language sql stable as $$ select (at at time zone timezone) - (at at time zone 'UTC') $$;

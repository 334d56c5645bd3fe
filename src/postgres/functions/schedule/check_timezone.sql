-- Answers in plain words what is wrong with the name of a timezone. Null: nothing.
--
-- Postgres itself takes more than names of places. It reads an abbreviation first, so its CET knows no summer: no abbreviation has a slash.
-- And it takes "Moon/Base5" for a zone five hours from UTC: so digits may stand only in names that exist.
create or replace function layover.check_timezone(timezone text) returns text
language plpgsql stable as $$
begin
  if timezone ~* '^(utc|etc/gmt(0|[+-][0-9]|-1[0-4]|\+1[0-2])|[a-z][a-z_-]*(/[a-z_-]+)+)$' and timezone !~* '^(posix|right)/' then
    perform timestamp 'epoch' at time zone timezone;
    return null;
  end if;
  return format('there is no timezone "%s": write UTC, or a place such as Europe/Berlin', left(timezone, 60));
exception when invalid_parameter_value then
  return format('there is no timezone "%s": write UTC, or a place such as Europe/Berlin', left(timezone, 60));
end $$;

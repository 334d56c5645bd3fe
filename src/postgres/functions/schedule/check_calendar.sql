-- Answers in plain words why a cron pattern cannot be used in a timezone. Null: it can.
create or replace function layover.check_calendar(cron text, timezone text) returns text
language plpgsql stable as $$
begin
  if timezone !~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$' or timezone !~ '/' and upper(timezone) not in ('UTC', 'GMT') then
    return format('"%s" is no name of a timezone, such as Europe/Berlin or UTC', left(timezone, 60));
  end if;
  begin
    perform layover.zone_offset(timezone, layover.now());
  exception when invalid_parameter_value then
    return format('the database knows no timezone "%s"', left(timezone, 60));
  end;
  if layover.next_firing(cron, timezone, layover.now()) is null then
    return format('the pattern "%s" names no instant within ten years', left(cron, 200));
  end if;
  return null;
exception when sqlstate 'LO016' then
  return format('the pattern "%s" is no cron pattern: %s', left(cron, 200), sqlerrm);
end $$;

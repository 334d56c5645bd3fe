-- Answers the instant at which the clocks of a timezone first show a time. If they are put forward over it, that is the instant of the change.
--
-- The offset from UTC is between -15 and +15 hours, so the time is shown, or jumped over, within 15 hours of the same time in UTC. The
-- clocks change at most once within these.
create or replace function layover.first_instant(timezone text, shown timestamp) returns timestamptz
language plpgsql stable as $$
declare
  v_from   constant timestamptz := (shown at time zone 'UTC') - interval '15 hours';
  v_until  constant timestamptz := (shown at time zone 'UTC') + interval '15 hours';
  v_early  constant timestamptz := (shown - layover.zone_offset(timezone, v_from)) at time zone 'UTC';
  v_late   timestamptz;
begin
  if v_early at time zone timezone = shown then
    return v_early;
  end if;
  v_late := (shown - layover.zone_offset(timezone, v_until)) at time zone 'UTC';
  if v_late at time zone timezone = shown then
    return v_late;
  end if;
  return layover.next_change(timezone, v_from, v_until);
end $$;

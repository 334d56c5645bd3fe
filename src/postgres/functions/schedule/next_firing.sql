-- Answers the first instant after an instant at which a cron pattern fires in a timezone. Null: none in the next 10 years, or
-- `check_calendar` says what is wrong.
--
-- Where clocks go forward or back, it depends on the pattern (`is_fixed`):
--   a `*`, a step or a range of times    fires whenever the clock shows a time of the pattern: never in a gap, twice where a time comes twice
--   fixed times                          fire when the clock reaches or passes such a time for the first time: so once at the end of a gap
--
-- It goes from stretch to stretch in which the offset is the same. No clock was ever changed by more than 26 hours, nor twice in 3 days. So
-- beyond 3 days it need not look at changes until 3 days before the firing. All local variables of type timestamp are UTC, or a time on the
-- wall; a session's TimeZone plays no part.
create or replace function layover.next_firing(cron text, timezone text, after timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_stretch constant interval := interval '72 hours';
  v_at      timestamp := after at time zone 'UTC';
  v_wall    timestamp;
  v_offset  interval;
  v_change  timestamp;
  v_shown   timestamp;
  v_firing  timestamp;
  c         record;
begin
  if not isfinite(after) or layover.check_timezone(timezone) is not null then
    return null;
  end if;
  c := layover.read_cron(cron);
  v_wall := after at time zone timezone;
  v_offset := v_wall - v_at;
  if c.is_fixed then
    v_change := layover.find_clock_change(timezone, v_at - interval '26 hours', v_at);
    -- If the clock was put back, it shows times again. The first new one is what it would have shown at the change.
    v_shown := (v_change - interval '1 second') at time zone 'UTC' at time zone timezone;
    v_wall := greatest(v_wall, v_shown + interval '999999 microseconds');
  end if;
  v_wall := layover.next_wall_time(c.minutes, c.hours, c.days, c.months, c.weekdays, c.is_either, v_wall);
  loop
    v_firing := v_wall - v_offset;
    if v_firing is null then
      return null;
    end if;
    v_change := layover.find_clock_change(timezone, v_at, least(v_firing, v_at + v_stretch));
    if v_change is null then
      exit when v_firing <= v_at + v_stretch;
      v_at := v_firing - v_stretch;
      v_offset := v_at at time zone 'UTC' at time zone timezone - v_at;
      continue;
    end if;
    v_at := v_change;
    v_shown := v_at at time zone 'UTC' at time zone timezone;
    v_offset := v_shown - v_at;
    if not c.is_fixed then
      v_wall := layover.next_wall_time(c.minutes, c.hours, c.days, c.months, c.weekdays, c.is_either, v_shown - interval '1 microsecond');
    elsif v_shown >= v_wall then
      v_firing := v_at;
      exit;
    end if;
  end loop;
  return case when v_firing <= after at time zone 'UTC' + interval '10 years' then v_firing at time zone 'UTC' end;
exception when invalid_parameter_value then
  return null;
end $$;

-- Answers the first time after a time at which a clock on the wall shows what a cron pattern asks for, were there no clock changes. The
-- pattern is given as `read_cron` reads it. Null: none in the next 10 years. It looks at each month once, so it looks at 121 at most.
create or replace function layover.next_wall_time(
  minutes varbit, hours varbit, days varbit, months varbit, weekdays varbit, is_either boolean, after timestamp) returns timestamp
language plpgsql immutable as $$
declare
  v_from   constant timestamp := date_trunc('minute', after) + interval '1 minute';
  v_hour   constant integer := extract(hour from v_from);
  v_minute constant integer := extract(minute from v_from);
  v_until  constant timestamp := v_from + interval '10 years';
  v_today  constant timestamp := date_trunc('day', v_from);
  v_first  constant integer := position(B'1' in minutes) - 1; -- of an hour
  v_time   integer; -- minutes from today's midnight to the first match on a day like today; null: none is left
  v_found  integer;
  v_day    timestamp;
  v_month  timestamp;
  v_week   varbit;
begin
  v_found := position(B'1' in substring(minutes from v_minute + 1));
  if get_bit(hours, v_hour) = 1 and v_found > 0 then
    v_time := v_hour * 60 + v_minute + v_found - 1;
  else
    v_found := position(B'1' in substring(hours from v_hour + 2));
    v_time := case when v_found > 0 then (v_hour + v_found) * 60 + v_first end;
  end if;
  v_day := case when v_time is null then v_today + interval '1 day' else v_today end;
  while v_day <= v_until loop
    v_month := date_trunc('month', v_day);
    if get_bit(months, extract(month from v_month)::integer) = 1 then
      v_week := substring(weekdays from extract(dow from v_month)::integer + 1 for 31);
      v_found := position(B'1' in substring(case when is_either then days | v_week else days & v_week end from extract(day from v_day)::integer));
      v_day := v_day + (v_found - 1) * interval '1 day';
      if v_found > 0 and v_day < v_month + interval '1 month' then
        return v_day + case when v_day = v_today then v_time else (position(B'1' in hours) - 1) * 60 + v_first end * interval '1 minute';
      end if;
    end if;
    v_day := v_month + interval '1 month';
  end loop;
  return null;
end $$;

-- Answers the first instant after `after` that a cron pattern names in a timezone. Null: there is none within ten years.
--
-- Where clocks change, libraries differ. This is the rule here:
--   A pattern of fixed times (its minute and hour have no `*`, range or step) fires once a day for each of them: at the instant of the
--   change if the clocks jump over the time, and at the first of two instants if they show it twice.
--   Any other pattern runs by elapsed time: it fires whenever the clocks show what it names, also a second time.
create or replace function layover.next_firing(cron text, timezone text, after timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  c        constant record := layover.read_cron(cron);
  v_last   constant date := ((after at time zone timezone) + interval '10 years')::date;
  v_day    date;
  v_minute integer;
  v_at     timestamptz;
  v_next   timestamptz;
  v_shown  timestamp;
  v_offset interval;
  v_end    timestamptz;
begin
  if c.is_fixed then
    v_day := (after at time zone timezone)::date - 2; -- the clocks may have jumped over a whole day
    loop
      v_day := layover.next_day(c.days, c.months, c.weekdays, c.is_either, v_day + 1, v_last);
      exit when v_day is null;
      v_minute := layover.next_minute(c.hours, c.minutes, 0);
      while v_minute is not null loop
        v_at := layover.first_instant(timezone, v_day + v_minute * interval '1 minute');
        if v_at > after then
          return v_at;
        end if;
        v_minute := layover.next_minute(c.hours, c.minutes, v_minute + 1);
      end loop;
    end loop;
    return null;
  end if;
  -- From one change of the clocks, or from one midnight, to the next: in between their offset stays.
  v_shown := date_trunc('minute', after at time zone timezone) + interval '1 minute';
  v_offset := layover.zone_offset(timezone, after);
  v_at := (v_shown - v_offset) at time zone 'UTC';
  if layover.zone_offset(timezone, v_at) <> v_offset then
    v_at := layover.next_change(timezone, after, v_at);
  end if;
  loop
    v_offset := layover.zone_offset(timezone, v_at);
    v_shown := v_at at time zone timezone;
    v_day := layover.next_day(c.days, c.months, c.weekdays, c.is_either, v_shown::date, v_last);
    if v_day is null then
      return null;
    elsif v_day > v_shown::date then
      v_next := layover.first_instant(timezone, v_day::timestamp);
      -- The clocks may have shown that day already, and show a part of the day before again.
      v_at := case when v_next > v_at then v_next else (v_day::timestamp - v_offset) at time zone 'UTC' end;
      v_offset := layover.zone_offset(timezone, v_at);
      v_shown := v_at at time zone timezone;
    end if;
    v_end := ((v_shown::date + 1)::timestamp - v_offset) at time zone 'UTC';
    if layover.zone_offset(timezone, v_end - interval '1 second') <> v_offset then
      v_end := layover.next_change(timezone, v_at, v_end - interval '1 second');
    end if;
    v_minute := layover.next_minute(c.hours, c.minutes, ceil(extract(epoch from v_shown - v_shown::date::timestamp) / 60)::integer);
    if v_minute is not null then
      v_at := ((v_shown::date + v_minute * interval '1 minute') - v_offset) at time zone 'UTC';
      if v_at < v_end then
        return v_at;
      end if;
    end if;
    v_at := v_end;
  end loop;
end $$;

-- Reads a cron pattern of five fields, or a nickname such as @daily. Raises what is wrong with it, and where.
--
-- A bit stands for a number: bit 0 of `minutes` for minute 0, bit 0 of `days` for the first day of a month, bit 0 of `weekdays` for
-- Sunday. `weekdays` holds six weeks, so that a month may begin at any of its first seven bits.
create or replace function layover.read_cron(
  cron text, out minutes varbit, out hours varbit, out days varbit, out months varbit, out weekdays varbit,
  out is_either boolean, -- whether a day of month or a day of week is enough, as both were restricted
  out is_fixed boolean   -- whether it names times of day, and no `*`, step or range of them
)
language plpgsql immutable as $$
declare
  v_most   constant integer := 250;
  v_text   text := btrim(lower(cron collate "C"), E' \t\r\n'); -- a Turkish lower() makes no "fri" of FRI
  v_fields text[];
begin
  if length(cron) > v_most then
    raise exception using errcode = '22023', message = format(
      'it has %s characters, and may have %s', length(cron), v_most);
  end if;
  v_text := case v_text
    when '@hourly' then '0 * * * *'
    when '@daily' then '0 0 * * *'
    when '@midnight' then '0 0 * * *'
    when '@weekly' then '0 0 * * 0'
    when '@monthly' then '0 0 1 * *'
    when '@yearly' then '0 0 1 1 *'
    when '@annually' then '0 0 1 1 *'
    else v_text end;
  v_fields := case when coalesce(v_text, '') = '' then '{}' else regexp_split_to_array(v_text, '[ \t\r\n]+') end;
  if starts_with(v_text, '@') then
    raise exception using errcode = '22023', message = 'it is no nickname that is known: write @hourly, @daily, @weekly, @monthly or @yearly, or five fields';
  elsif cardinality(v_fields) <> 5 then
    raise exception using errcode = '22023', message = format(
      'it has %s, and needs 5: minute, hour, day of month, month, day of week%s',
      case cardinality(v_fields) when 1 then '1 field' else cardinality(v_fields) || ' fields' end,
      case cardinality(v_fields) when 6 then '. There is none for seconds, nor for years' else '' end);
  end if;
  minutes := layover.read_cron_field(v_fields[1], 'minute', 0, 59, null);
  hours := layover.read_cron_field(v_fields[2], 'hour', 0, 23, null);
  days := substring(layover.read_cron_field(case v_fields[3] when '?' then '*' else v_fields[3] end, 'day of month', 1, 31, null) from 2);
  months := layover.read_cron_field(v_fields[4], 'month', 1, 12,
    '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}');
  weekdays := layover.read_cron_field(case v_fields[5] when '?' then '*' else v_fields[5] end, 'day of week', 0, 7,
    '{sun,mon,tue,wed,thu,fri,sat}');
  weekdays := (get_bit(weekdays, 0) | get_bit(weekdays, 7))::text::varbit || substring(weekdays from 2 for 6);
  weekdays := weekdays || weekdays || weekdays || weekdays || weekdays || weekdays;
  is_either := v_fields[3] !~ '^[*?]' and v_fields[5] !~ '^[*?]';
  is_fixed := v_fields[1] || v_fields[2] !~ '[*/-]';
end $$;

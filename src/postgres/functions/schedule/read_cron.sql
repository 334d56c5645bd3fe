-- Reads a cron pattern: five fields, or a name like `@daily`. Raises LO016, in plain words, if it cannot be read.
--
-- `isEither`: a day fits if its day of the month or its weekday does, since neither field begins with `*`. `isFixed`: minute and hour are
-- plain numbers, so the pattern names times of a day. Others run by elapsed time (next_firing).
create or replace function layover.read_cron(cron text, out minutes integer[], out hours integer[], out days integer[], out months integer[],
  out weekdays integer[], out is_either boolean, out is_fixed boolean)
language plpgsql immutable as $$
declare
  v_fields text[];
begin
  if length(cron) > 200 then
    raise exception 'it is longer than 200 characters' using errcode = 'LO016';
  end if;
  v_fields := regexp_split_to_array(trim(case lower(trim(cron))
    when '@hourly' then '0 * * * *'
    when '@daily' then '0 0 * * *'
    when '@midnight' then '0 0 * * *'
    when '@weekly' then '0 0 * * 0'
    when '@monthly' then '0 0 1 * *'
    when '@yearly' then '0 0 1 1 *'
    when '@annually' then '0 0 1 1 *'
    else cron end), '\s+');
  if cardinality(v_fields) <> 5 then
    raise exception 'it has % instead of 5: minute, hour, day of the month, month, weekday',
      case cardinality(v_fields) when 1 then '1 field' else cardinality(v_fields) || ' fields' end using errcode = 'LO016';
  end if;
  v_fields[3] := case when v_fields[3] = '?' then '*' else v_fields[3] end;
  v_fields[5] := case when v_fields[5] = '?' then '*' else v_fields[5] end;
  minutes := layover.read_cron_field(v_fields[1], 'minute', 0, 59, null);
  hours := layover.read_cron_field(v_fields[2], 'hour', 0, 23, null);
  days := layover.read_cron_field(v_fields[3], 'day of the month', 1, 31, null);
  months := layover.read_cron_field(v_fields[4], 'month', 1, 12,
    '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}');
  weekdays := layover.read_cron_field(v_fields[5], 'weekday', 0, 7, '{sun,mon,tue,wed,thu,fri,sat}');
  is_either := v_fields[3] not like '*%' and v_fields[5] not like '*%';
  is_fixed := v_fields[1] || v_fields[2] !~ '[*/-]';
end $$;

-- Answers the first day from `start` on, up to `until`, that the day fields of a cron pattern fit. Null: none.
create or replace function layover.next_day(days integer[], months integer[], weekdays integer[], is_either boolean, start date, until date)
returns date
language plpgsql immutable as $$
declare
  v_day        date := start;
  v_is_date    boolean;
  v_is_weekday boolean;
begin
  while v_day <= until loop
    if extract(month from v_day)::integer <> all (months) then
      v_day := (date_trunc('month', v_day::timestamp) + interval '1 month')::date;
      continue;
    end if;
    v_is_date := extract(day from v_day)::integer = any (days);
    v_is_weekday := extract(dow from v_day)::integer = any (weekdays);
    if v_is_date and v_is_weekday or is_either and (v_is_date or v_is_weekday) then
      return v_day;
    end if;
    v_day := v_day + 1;
  end loop;
  return null;
end $$;

-- Answers the first time of a day from `start` on, in minutes since midnight, that the hours and minutes of a cron pattern fit. Null: none.
create or replace function layover.next_minute(hours integer[], minutes integer[], start integer) returns integer
language plpgsql immutable as $$
declare
  v_hour   integer;
  v_minute integer;
begin
  foreach v_hour in array hours loop
    continue when v_hour < start / 60;
    foreach v_minute in array minutes loop
      if v_hour * 60 + v_minute >= start then
        return v_hour * 60 + v_minute;
      end if;
    end loop;
  end loop;
  return null;
end $$;

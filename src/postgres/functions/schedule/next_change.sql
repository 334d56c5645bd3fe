-- Answers the instant, after `start` and up to `until`, at which the clocks of a timezone change, to the second. They change at most once in
-- between, and do so: both ends have different offsets.
create or replace function layover.next_change(timezone text, start timestamptz, until timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_before constant interval := layover.zone_offset(timezone, start);
  v_from   bigint := floor(extract(epoch from start));
  v_to     bigint := ceil(extract(epoch from until));
  v_middle bigint;
begin
  while v_to - v_from > 1 loop
    v_middle := (v_from + v_to) / 2;
    if layover.zone_offset(timezone, to_timestamp(v_middle)) = v_before then
      v_from := v_middle;
    else
      v_to := v_middle;
    end if;
  end loop;
  return to_timestamp(v_to);
end $$;

-- Answers the first second of a span, its beginning excluded, at which the clocks of a timezone go by another offset than at its beginning.
-- All times are UTC. Null: the offset at its end is the same. A span of some days holds one change at most.
create or replace function layover.find_clock_change(timezone text, since timestamp, until timestamp) returns timestamp
language plpgsql stable as $$
declare
  v_start  constant timestamp := date_trunc('second', since);
  v_offset constant interval := v_start at time zone 'UTC' at time zone timezone - v_start;
  v_before integer := 0;
  v_after  integer;
  v_middle integer;
  v_at     timestamp;
begin
  if until at time zone 'UTC' at time zone timezone - until = v_offset then
    return null;
  end if;
  v_after := floor(extract(epoch from until - v_start));
  while v_after - v_before > 1 loop
    v_middle := (v_before + v_after) / 2;
    v_at := v_start + v_middle * interval '1 second';
    if v_at at time zone 'UTC' at time zone timezone - v_at = v_offset then
      v_before := v_middle;
    else
      v_after := v_middle;
    end if;
  end loop;
  return v_start + v_after * interval '1 second';
end $$;

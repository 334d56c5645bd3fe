-- Answers the last instant of a schedule's calendar that is fired by `until`, its jitter counted. `first` is one of them. It halves the time
-- in between, so it takes as little for a year of minutes as for a day.
create or replace function layover.last_instant(name text, definition jsonb, first timestamptz, until timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_last timestamptz := first;
  v_end  timestamptz := until; -- no instant up to `until` comes after it
  v_half timestamptz;
  v_next timestamptz;
begin
  loop
    v_next := layover.next_instant(name, definition, v_last);
    if v_next is null or v_next > until then
      if v_last > first and v_last + layover.jitter_of(name, definition, v_last) > until then -- it is only put off
        return layover.last_instant(name, definition, first, v_last - interval '1 millisecond');
      end if;
      return v_last;
    end if;
    v_last := v_next;
    v_half := v_last + (v_end - v_last) / 2;
    v_next := layover.next_instant(name, definition, v_half);
    if v_next <= until then
      v_last := v_next;
    else
      v_end := v_half;
    end if;
  end loop;
end $$;

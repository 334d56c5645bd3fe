-- Refuses a call that is too late, which undoes it. On the path of a step is_too_late is asked before: that costs less.
create or replace function layover.check_time(p jsonb) returns void
language plpgsql volatile as $$
begin
  if layover.is_too_late(p) then
    raise exception 'this call was carried out too late' using errcode = 'LO002';
  end if;
end $$;

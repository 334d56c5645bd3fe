-- Undoes a call that is too late.
create or replace function layover.refuse_too_late() returns void
language plpgsql volatile as $$
begin
  raise exception 'this call was carried out too late' using errcode = 'LO002';
end $$;

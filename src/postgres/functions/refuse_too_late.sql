-- A call that waited beyond the instant its caller still counts on takes no effect: an alarm armed for it may have
-- rung already. Called last, so that the waits for locks count.
create or replace function layover.refuse_too_late(p jsonb) returns void
language plpgsql volatile as $$
begin
  if layover.now() > layover.from_ms((p->>'notAfter')::bigint) then
    raise exception 'this call was carried out too late' using errcode = 'LO002';
  end if;
end $$;

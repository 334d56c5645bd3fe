-- Undoes a call that is too late, or that has armed in a process which is not listed. Its caller arms anew.
create or replace function layover.refuse_wrongly_armed(p jsonb) returns void
language plpgsql volatile as $$
begin
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  raise exception 'a process in which this call is armed is not listed' using errcode = 'LO011',
    hint = 'List the process anew (note_process), arm in processes that are listed, and call again.';
end $$;

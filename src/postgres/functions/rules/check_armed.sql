-- Refuses a call whose alarms may not ring for it, which undoes it. It is too late, or one of the processes in which they ring
-- (`rings`) is not listed any more, so that nobody looks after that process. Its caller arms anew.
create or replace function layover.check_armed(p jsonb) returns void
language plpgsql volatile as $$
begin
  perform layover.check_time(p);
  if layover.is_wrongly_armed(p) then
    raise exception 'a process in which this call is armed is not listed' using errcode = 'LO011',
      hint = 'List the process anew (note_process), arm in processes that are listed, and call again.';
  end if;
end $$;

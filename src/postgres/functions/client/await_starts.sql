-- Waits until nobody is amid a start: start_run reads workflow_pause, and keeps the lock of a reader until its transaction ends. Later starts
-- wait meanwhile, so it waits half a second at most. Answers whether all have ended. If not, one of them may not see what follows.
create or replace function layover.await_starts() returns boolean
language plpgsql volatile as $$
begin
  perform set_config('lock_timeout', '500ms', true);
  lock table layover.workflow_pause in access exclusive mode;
  return true;
exception when lock_not_available then
  return false;
end $$;

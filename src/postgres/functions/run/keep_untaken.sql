-- Stores an attempt with a run, in its history of now, for a run that it has invoked, that is deleted, and whose end it does not take: that
-- one may have had its effect, so it is undone.
create or replace function layover.keep_untaken(run uuid, path text, occurrence integer, began_at timestamptz, ended_at timestamptz) returns void
language plpgsql volatile as $$
begin
  insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
    select t.run_id, t.epoch, keep_untaken.path, keep_untaken.occurrence, 1, keep_untaken.began_at, keep_untaken.ended_at,
        '0{"name": "Error", "code": "interrupted", "message": "the run that it has invoked is deleted, and its end was not taken"}'
      from layover.run_state t where t.run_id = run
    on conflict do nothing;
end $$;

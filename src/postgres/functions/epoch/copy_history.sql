-- Copies these records of a history to another epoch or run, as its positions 1, 2, 3 …, with the failed attempts of their steps,
-- and the changes of its code that the run has met.
-- `results` has other values for some of them: {"position": "value"}. They are no failures then.
create or replace function layover.copy_history(run uuid, epoch integer, to_run uuid, to_epoch integer, kept integer[], results jsonb)
returns void
language plpgsql volatile as $$
begin
  insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value, recorded_at, began_at)
    select to_run, to_epoch, k.place, h.kind, h.path, h.occurrence, h.attempts,
        h.is_failure and not coalesce(results ? h.position::text, false), coalesce(results->>h.position::text, h.value), h.recorded_at, h.began_at
      from unnest(kept) with ordinality as k (position, place)
      join layover.record h on h.run_id = run and h.epoch = copy_history.epoch and h.position = k.position;
  insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error, request_id)
    select to_run, to_epoch, a.path, a.occurrence, a.number, a.began_at, a.ended_at, a.error, a.request_id
      from layover.attempt a
     where a.run_id = run and a.epoch = copy_history.epoch and exists (
       select from layover.record h where h.run_id = to_run and h.epoch = to_epoch and h.kind = 'step' and h.path = a.path
         and h.occurrence = a.occurrence);
  insert into layover.patch (run_id, epoch, path, position)
    select to_run, to_epoch, x.path, width_bucket(x.position, kept) -- how many of them are kept up to there
      from layover.patch x where x.run_id = run and x.epoch = copy_history.epoch;
end $$;

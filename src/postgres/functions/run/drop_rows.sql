-- Deletes the released rows of a run below these prefixes that nobody holds. A branch that somebody has claimed, and that has no record,
-- may have had its effect: it leaves an attempt, so that it is undone, unless its last attempt is known. The caller has locked the rows.
create or replace function layover.drop_rows(run uuid, prefixes text[] default '{""}') returns void
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  with dropped as (
    delete from layover.pending b
     where b.run_id = run and b.is_released and b.child_bond is null and coalesce(b.leased_until <= v_now, true)
       and exists (select from unnest(prefixes) as x (prefix) where starts_with(b.path, x.prefix))
     returning b.path, b.occurrence, b.attempts,
       b.has_begun and b.position is null and (b.token is not null or b.attempts = 0) as is_open
  )
  insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
    select t.run_id, t.epoch, d.path, d.occurrence, d.attempts + 1, v_now, v_now,
        '0{"name": "Error", "code": "interrupted", "message": "it was begun, and its process never told how it ended"}'
      from dropped d, layover.run_state t
     where t.run_id = run and d.is_open;
end $$;

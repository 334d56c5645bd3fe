-- Answers why a run or the first of its branches was set back, since when, and when it is tried again. Null: nothing was set back, or
-- a later try got on.
create or replace function layover.describe_setback(s layover.run_state) returns json
language plpgsql volatile as $$
begin
  return (
    select json_build_object('reason', w.reason, 'path', nullif(w.path, ''), 'tries', w.tries,
        'since', layover.to_ms(w.since), 'until', layover.to_ms(w.until))
      from layover.setback w
     where w.run_id = s.run_id and (w.path = '' and w.turn = s.turn or exists (
       select from layover.pending b
        where b.run_id = w.run_id and b.path = w.path and b.occurrence = w.occurrence and b.turn = w.turn
          and b.kind = 'branch' and b.position is null and not b.is_released))
     order by w.path <> '', w.until, w.path, w.occurrence limit 1);
end $$;

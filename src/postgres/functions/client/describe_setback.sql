-- Why a run, or the first of its branches, was set back: since when, and when it is tried again. Null: nothing was, or the
-- turn that tried again got on.
create or replace function layover.describe_setback(s layover.run_state) returns json
language plpgsql volatile as $$
begin
  return (
    select json_build_object('reason', b.reason, 'path', nullif(b.path, ''), 'tries', b.tries,
        'since', layover.to_ms(b.since), 'until', layover.to_ms(b.until))
      from layover.setback b
     where b.run_id = s.run_id and (b.path = '' and b.turn = s.turn or exists (
       select from layover.pending q
        where q.run_id = b.run_id and q.path = b.path and q.occurrence = b.occurrence and q.turn = b.turn
          and q.kind = 'branch' and q.position is null and not q.is_released))
     order by b.path <> '', b.until, b.path, b.occurrence limit 1);
end $$;

-- Answers the runs that this one would wait for again after a retry, and that have failed or were cancelled: they are repaired first. Null: there
-- are none. `kept`: the positions that the retry keeps.
create or replace function layover.find_failed_children(run uuid, epoch integer, kept integer[]) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object('outcome', 'child_failed', 'children', jsonb_agg(r.id order by r.id))
      from layover.run r join layover.run_state t on t.run_id = r.id
     where r.parent_run_id = run and t.has_parent and t.status in ('failed', 'cancelled') and not exists (
       select from layover.record h
        where h.run_id = run and h.epoch = find_failed_children.epoch and h.position = any (kept) and h.kind = 'child'
          and h.path = r.parent_path and h.occurrence = r.parent_occurrence)
    having count(*) > 0);
end $$;

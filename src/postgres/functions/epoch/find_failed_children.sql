-- Answers the runs that this one would wait for again after a retry, and that have failed or were cancelled, or are about to: they are repaired
-- first. Null: there are none. The run's last finish told which runs it would wait for. If it did not, all count whose ends are not kept.
-- `kept`: the positions that the retry keeps.
create or replace function layover.find_failed_children(run uuid, epoch integer, kept integer[]) returns jsonb
language plpgsql stable as $$
declare
  v_waits constant text[] := (
    select array(select jsonb_array_elements_text(t.failure->'children'))
      from layover.run_state t where t.run_id = run and t.failure ? 'children');
begin
  return (
    select jsonb_build_object('outcome', 'child_failed', 'children', jsonb_agg(r.id order by r.id))
      from layover.run r join layover.run_state t on t.run_id = r.id
     where r.parent_run_id = run and t.has_parent
       and (t.status in ('failed', 'cancelled') or t.ended_at is null and (t.cancel_requested_at is not null
         or t.cancelled_position is not null or t.is_closing or t.ending_position is not null))
       and case when v_waits is not null then right(r.id::text, 21) = any (v_waits) else not exists (
         select from layover.record h
          where h.run_id = run and h.epoch = find_failed_children.epoch and h.position = any (kept) and h.kind = 'child'
            and h.path = r.parent_path and h.occurrence = r.parent_occurrence) end
    having count(*) > 0);
end $$;

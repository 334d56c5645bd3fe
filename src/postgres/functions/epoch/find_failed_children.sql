-- Answers the runs that this one would wait for again after a retry, and that have failed or were cancelled, or are about to: they are repaired
-- first. Null: there are none. `kept`: the positions that the retry keeps.
create or replace function layover.find_failed_children(run uuid, epoch integer, kept integer[]) returns jsonb
language sql stable as $$
  select jsonb_build_object('outcome', 'child_failed', 'children', jsonb_agg(r.id order by r.id))
    from layover.children_of_retry(run, epoch, kept) r join layover.run_state t on t.run_id = r.id
   where t.status in ('failed', 'cancelled') or t.ended_at is null and (t.cancel_requested_at is not null
     or t.cancelled_position is not null or t.is_closing or t.ending_position is not null)
  having count(*) > 0
$$;

-- Asks the runs to end that this one waits for no more, since it has ended, closes, lost them in a race, or waited too long: running or
-- parked -> closing, as cancel_run does it. Their rows stay until they have ended, for a day at most: the undos of this run begin after that.
-- Runs that are to go on are left alone. `is_all`: this run waits for none.
--
-- Answers the first 1,000 turns that may be claimed; the scheduler finds the others at the instant that was armed for them. Its caller has
-- locked this run and the others with their rows (lock_families).
--
-- It reads rows by their key: a plan from a time of few runs would read all runs, for each of 10,000 children.
create or replace function layover.leave_children(run uuid, records jsonb, armed jsonb, is_all boolean) returns json
language plpgsql volatile set enable_seqscan = off as $$
declare
  v_now    constant timestamptz := layover.now();
  v_others json;
begin
  if records @> '[{"kind": "child"}]' then
    update layover.pending b set is_released = true
      from jsonb_array_elements(records) as h (item)
     where b.run_id = run and b.child_bond = 'cancel' and b.path = h.item->>'path'
       and b.occurrence = (h.item->>'occurrence')::integer and not h.item ? 'value';
  end if;
  with left_alone as (
    update layover.pending b set child_bond = 'cancelled', is_released = true, until = v_now + interval '1 day'
     where b.run_id = run and b.child_bond = 'cancel' and b.child_status is null and (is_all or b.is_released)
    returning b.child_run_id as run_id
  ), asked as (
    update layover.run_state t
       set cancel_requested_at = v_now, cancel_reason = layover.why_left(), paused_at = null, blocked = null,
           refused_by = null, ready_at = 'epoch', due_at = least(t.due_at, layover.pick_due(armed, v_now))
      from left_alone c
     where t.run_id = c.run_id and t.ended_at is null and t.cancel_requested_at is null and t.cancelled_position is null
       and t.ending_position is null and not t.is_closing
    returning t.run_id, t.turn
  )
  select json_agg(json_build_object('runId', a.run_id, 'turn', a.turn) order by a.run_id) into v_others
    from (select * from asked o order by o.run_id limit 1000) as a;
  delete from layover.pending b where b.run_id = run and b.child_bond = 'cancel' and b.is_released; -- those that have ended
  return v_others;
end $$;

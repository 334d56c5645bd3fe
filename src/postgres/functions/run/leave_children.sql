-- Asks the runs to end that this one waits for no more, since it has ended, closes, lost them in a race, or waited too long: running or
-- parked -> closing, as cancel_run does it. Their rows stay until they have ended, for a day at most: the undos of this run begin after that.
-- Runs that are to go on are left alone. `is_all`: this run waits for none.
--
-- Answers the turns that may be claimed. Its caller has locked this run and the others (lock_families).
create or replace function layover.leave_children(run uuid, records jsonb, armed jsonb, is_all boolean) returns json
language plpgsql volatile as $$
declare
  v_now      constant timestamptz := layover.now();
  v_children uuid[];
  v_child    uuid;
  v_turn     integer;
  v_others   jsonb := '[]';
begin
  if records @> '[{"kind": "child"}]' then
    update layover.pending b set is_released = true
      from jsonb_array_elements(records) as h (item)
     where b.run_id = run and b.child_bond = 'cancel' and b.path = h.item->>'path'
       and b.occurrence = (h.item->>'occurrence')::integer and not h.item ? 'value';
  end if;
  with one as (
    update layover.pending b set child_bond = 'cancelled', is_released = true, until = v_now + interval '1 day'
     where b.run_id = run and b.child_bond = 'cancel' and b.child_status is null and (is_all or b.is_released)
    returning b.child_run_id
  )
  select coalesce(array_agg(o.child_run_id order by o.child_run_id), '{}') into v_children from one o;
  foreach v_child in array v_children loop
    update layover.run_state t
       set cancel_requested_at = v_now, cancel_reason = 'its parent waits for it no more', paused_at = null, blocked = null,
           refused_by = null, ready_at = 'epoch', due_at = least(t.due_at, layover.pick_due(armed, v_now))
     where t.run_id = v_child and t.ended_at is null and t.cancel_requested_at is null and t.cancelled_position is null
       and t.ending_position is null and not t.is_closing
     returning t.turn into v_turn;
    if found then
      perform from layover.pending b where b.run_id = v_child order by b.path, b.occurrence for update;
      v_others := v_others || jsonb_build_object('runId', v_child, 'turn', v_turn);
    end if;
  end loop;
  delete from layover.pending b where b.run_id = run and b.child_bond = 'cancel' and b.child_status is not null and b.is_released;
  return nullif(v_others, '[]');
end $$;

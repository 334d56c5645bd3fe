-- Tells the run that waits for this one how it has ended. The end is kept in the parent's pending row, and the parent is ready: parked ->
-- parked and ready. A parent that waits no more, or was told already, is told nothing. Answers the
-- parent's turn, if it may be claimed: a list, as of all runs that a call makes ready beside its own.
--
-- Its caller has locked both runs (lock_families), and has written the end.
create or replace function layover.tell_parent(child uuid, armed jsonb) returns json
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_parent uuid;
  v_path   text;
  v_occurrence integer;
  v_is_left boolean;
  v_value  text;
  v_waits  boolean;
  v_turn   integer;
begin
  update layover.pending b
     set child_status = t.status, child_value = coalesce(t.result, t.error), child_ended_at = t.ended_at
    from layover.run r join layover.run_state t on t.run_id = r.id
   where r.id = child and t.ended_at is not null
     and b.run_id = r.parent_run_id and b.path = r.parent_path and b.occurrence = r.parent_occurrence
     and b.child_run_id = child and b.child_status is null
   returning b.run_id, b.path, b.occurrence, b.is_released, b.child_value
     into v_parent, v_path, v_occurrence, v_is_left, v_value;
  if v_parent is null then
    return null;
  end if;
  if v_value like '2stored.%' then
    perform layover.share_value(child, v_parent, v_value);
  end if;
  if v_is_left then -- it waits no more for the result, but its undos may wait for the end
    delete from layover.pending b where b.run_id = v_parent and b.path = v_path and b.occurrence = v_occurrence;
  end if;
  -- A branch may be at work whose late renewal came after the claim that has put this run off (reclaim_run): the next claim waits for that.
  select t.status = 'parked' and case when v_is_left then t.is_closing and not exists (
          select from layover.pending b where b.run_id = v_parent and (b.child_bond = 'cancel' or b.child_bond = 'cancelled' and b.until > v_now))
        else (t.ready_at is null or t.ready_at > v_now) and layover.has_answer(v_parent) end,
      case when layover.may_be_due(t) then t.turn end
    into v_waits, v_turn
    from layover.run_state t where t.run_id = v_parent;
  update layover.run_state t
     set has_mail = t.has_mail or not v_is_left,
         ready_at = case when v_waits then 'epoch' else t.ready_at end,
         due_at = case when v_waits and layover.may_be_due(t)
           then least(t.due_at, layover.pick_due(armed, v_now)) else t.due_at end
   where t.run_id = v_parent;
  return case when v_waits and v_turn is not null then json_build_array(json_build_object('runId', v_parent, 'turn', v_turn)) end;
end $$;

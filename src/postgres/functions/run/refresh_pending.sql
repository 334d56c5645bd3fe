-- Deletes the losers of races whose lease is over, since they cannot record any more. Answers what the run waits for. Of rows that its
-- process knows (demanded up to `known_through`) it answers only those that may have changed. A run may have been started by another
-- process after the very record that this one knows last. And a step that this one knows between its attempts may be a branch by now, where
-- another code of the same version has asked for something beside it.
create or replace function layover.refresh_pending(run uuid, known_through integer) returns json
language plpgsql volatile as $$
declare
  v_now     constant timestamptz := layover.now();
  v_pending json;
  v_voids   boolean;
begin
  loop
    select json_agg(json_build_object('kind', b.kind, 'path', b.path, 'occurrence', b.occurrence,
          'demandedAfter', b.demanded_after, 'until', layover.to_ms(b.until), 'attempts', b.attempts,
          'position', b.position, 'isReleased', b.is_released) order by b.ordinal),
        bool_or(b.is_released and (b.leased_until is null or b.leased_until <= v_now))
      into v_pending, v_voids
      from layover.pending b
     where b.run_id = run and (b.child_bond is null or not b.is_released) and (b.kind = 'retry' or b.is_released or b.demanded_after > known_through
         or b.kind = 'child' and b.demanded_after = known_through or b.kind = 'branch' and b.attempts > 0);
    exit when v_voids is not true;
    perform from layover.pending b where b.run_id = run and b.is_released order by b.path, b.occurrence for update;
    perform layover.drop_rows(run);
  end loop;
  return v_pending;
end $$;

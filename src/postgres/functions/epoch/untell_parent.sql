-- Takes the end of a run back from the run that waits for it, when it begins again and its parent has not taken that end: the parent waits
-- once more, and whatever ends that wait asks this run to end. A parent that is at work may have read the end before. Then its finish
-- records that one.
--
-- The parent stays as ready as it was made for the end: it is claimed once in vain, and then waits. Its caller has locked both runs
-- (lock_families).
create or replace function layover.untell_parent(child uuid) returns void
language plpgsql volatile as $$
begin
  update layover.pending b
     set child_status = null, child_value = null, child_ended_at = null
    from layover.run r
   where r.id = child and b.run_id = r.parent_run_id and b.path = r.parent_path and b.occurrence = r.parent_occurrence
     and b.child_run_id = child;
end $$;

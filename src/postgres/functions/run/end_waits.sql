-- Deletes what a run waited for and has: the rows that the turn's records end, and branches whose records the turn has handed out.
create or replace function layover.end_waits(run uuid, seen integer, records jsonb) returns void
language plpgsql volatile as $$
begin
  delete from layover.pending b where b.run_id = run and b.position <= seen;
  delete from layover.pending b
    using jsonb_array_elements(coalesce(records, '[]')) as h (item)
    where b.run_id = run and b.path = h.item->>'path' and b.occurrence = (h.item->>'occurrence')::integer
      and b.position is null and (b.child_bond is null or h.item ? 'value'); -- see leave_children
end $$;

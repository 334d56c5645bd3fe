-- Whether a run has a child that it waits for no more and has not yet asked to end: a claim that closed the run has released it, or a deferred
-- finish that lost a race. The next finish asks it to end, or forgets it if it has ended (leave_children). One that has ended may begin again
-- until then (untell_parent). PL/pgSQL, as is_at_work.
create or replace function layover.has_left_child(run uuid) returns boolean
language plpgsql volatile as $$
begin
  return exists (select from layover.pending b where b.run_id = run and b.child_bond = 'cancel' and b.is_released);
end $$;

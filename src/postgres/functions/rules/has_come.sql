-- Whether something has come that a finish rules out: a signal of a name that the finish closes and does not take, or the answer to a
-- callback whose announcement it says has failed. Then the finish is deferred, and the next turn takes what has come.
--
-- Each query here has a snapshot of its own, taken after the run was locked.
create or replace function layover.has_come(run uuid, epoch integer, f jsonb) returns boolean
language plpgsql volatile as $$
begin
  return exists (
    select from layover.signal g
     where g.run_id = run and g.position is null and f->'closes' ? g.name
       and not exists (select from jsonb_array_elements(f->'records') as h (item)
         where (h.item->>'signal')::bigint = g.number)
  ) or exists (
    select from layover.callback k
     where k.run_id = run and k.epoch = coalesce((f->'announces'->>'epoch')::integer, has_come.epoch) and k.path = f->'announces'->>'path'
       and k.occurrence = (f->'announces'->>'occurrence')::integer and k.position is null
  );
end $$;

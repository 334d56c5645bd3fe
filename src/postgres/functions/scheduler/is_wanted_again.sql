-- Whether the parent of a run that is over would wait for that run again: it has failed, and a retry would ask for it; or it was retried, and has not
-- asked for it yet, maybe since nobody carries its code. Its last failure says for which runs it would wait (`children`). If the run were deleted,
-- the parent would start it once more.
--
-- A parent that has asked for the run since its retry has a pending row of it, or a record of it behind those that the retry has kept.
create or replace function layover.is_wanted_again(child uuid) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from layover.run r join layover.run_state o on o.run_id = r.parent_run_id
      left join layover.epoch e on e.run_id = o.run_id and e.epoch = o.epoch and e.why = 'retried' and o.ended_at is null
     where r.id = child and o.ending_position is null and (o.status = 'failed' or e.run_id is not null)
       and coalesce(coalesce(o.failure, e.before->'state'->'failure')->'children' ? right(child::text, 21), true)
       and not exists (select from layover.pending b
         where b.run_id = o.run_id and b.path = r.parent_path and b.occurrence = r.parent_occurrence)
       and not exists (select from layover.record h
         where h.run_id = e.run_id and h.epoch = e.epoch and h.position > e.kept
           and h.path = r.parent_path and h.occurrence = r.parent_occurrence));
end $$;

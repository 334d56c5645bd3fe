-- Answers the steps of a run that have no record and may have had their effect.
create or replace function layover.read_attempted(run uuid, epoch integer) returns json
language plpgsql volatile as $$
begin
  return (select coalesce(json_agg(distinct jsonb_build_object('path', a.path, 'occurrence', a.occurrence)), '[]')
    from layover.attempt a
   where a.run_id = run and a.epoch = read_attempted.epoch and not exists (
     select from layover.record h where h.run_id = run and h.epoch = a.epoch and h.kind = 'step' and h.path = a.path
        and h.occurrence = a.occurrence));
end $$;

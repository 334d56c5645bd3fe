-- Answers the steps of a run that have no record and may have had their effect, how many attempts they had, and the error of the last one: of
-- as many as fit into 1 MiB. So may the runs that it has invoked and whose end it did not take. They are answered with their ids, since
-- a place may have had another one before a restart.
create or replace function layover.read_attempted(run uuid, epoch integer) returns json
language plpgsql volatile as $$
begin
  return (
    select coalesce(json_agg(distinct jsonb_strip_nulls(jsonb_build_object('path', o.path, 'occurrence', o.occurrence, 'runId', o.child,
        'attempts', o.attempts, 'error', o.error))), '[]')
      from (
        select s.path, s.occurrence, null::uuid as child, s.attempts,
            case when sum(octet_length(s.error)) over (order by s.path, s.occurrence) <= 1048576 then s.error end as error
          from (
            select distinct on (a.path, a.occurrence) a.path, a.occurrence, a.number as attempts, a.error
              from layover.attempt a
             where a.run_id = run and a.epoch = read_attempted.epoch and not exists (
               select from layover.record h where h.run_id = run and h.epoch = read_attempted.epoch and h.kind = 'step' and h.path = a.path
                 and h.occurrence = a.occurrence)
             order by a.path, a.occurrence, a.number desc) as s
        union all
        select r.parent_path, r.parent_occurrence, r.id, null, null
          from layover.run r join layover.run_state t on t.run_id = r.id and t.has_parent where r.parent_run_id = run
      ) as o
     where not exists (
       select from layover.record h where h.run_id = run and h.epoch = read_attempted.epoch and h.kind = 'child' and h.path = o.path
          and h.occurrence = o.occurrence));
end $$;

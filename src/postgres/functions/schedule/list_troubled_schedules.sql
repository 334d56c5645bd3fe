-- Answers the schedules that do not fire, or not as some code says, for `layover doctor`: the first 50 by name, of the first 10,000. Those
-- that somebody has paused are no trouble.
create or replace function layover.list_troubled_schedules(namespace text) returns json
language plpgsql stable as $$
begin
  return (
    with live as materialized (select l.name, l.versions from layover.live_deployments(list_troubled_schedules.namespace) as l)
    select coalesce(json_agg(layover.describe_schedule(q.v) order by (q.v).name), '[]')
      from (
        select v
          from (
            select o.* from layover.schedule o where o.namespace = list_troubled_schedules.namespace order by o.name limit 10000
          ) as o
          join layover.schedule v on v.namespace = o.namespace and v.name = o.name
         where v.paused_at is null and (v.next_at is not null or v.definition ? 'cron') and (
             v.next_at is null or v.skipped_in_row >= 3 or v.rival is not null or v.due_at < layover.now() - interval '5 minutes'
             or v.owner is not null and v.owner <> all (array(select l.name from live l))
             or not exists (select from live l where l.versions->v.workflow @> to_jsonb(v.version)))
         order by v.name limit 50
      ) as q);
end $$;

-- Answers the schedules that do not fire, or not as some code says, for `layover doctor`: the first 50 by name, of the first 10,000. Those
-- that somebody has paused are no trouble. It reads the table once: a session keeps its plan, and the one that it made while there were few
-- schedules joined ten thousand with ten thousand.
create or replace function layover.list_troubled_schedules(namespace text) returns json
language plpgsql stable as $$
begin
  return (
    with live as materialized (select l.name, l.versions from layover.live_deployments(list_troubled_schedules.namespace) as l)
    select coalesce(json_agg(layover.describe_schedule(q.v) order by (q.v).name), '[]')
      from (
        select o.v
          from (
            select v from layover.schedule v where v.namespace = list_troubled_schedules.namespace order by v.name limit 10000
          ) as o
         where (o.v).paused_at is null and ((o.v).next_at is not null or (o.v).definition ? 'cron') and (
             (o.v).next_at is null or (o.v).skipped_in_row >= 3 or exists (
               select from live l where (o.v).declarations ? l.name
                 and not layover.is_same_schedule((o.v).definition, (o.v).declarations->l.name))
             or (o.v).due_at < layover.now() - interval '5 minutes' or (o.v).owner <> all (array(select l.name from live l))
             or not exists (select from live l where l.versions->(o.v).workflow @> to_jsonb((o.v).version)))
         order by (o.v).name limit 50
      ) as q);
end $$;

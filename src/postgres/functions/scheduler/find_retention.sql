-- Answers how long runs are kept that are over, by workflow and outcome, where workflows have rules of their own. The build of each
-- deployment that was deployed last speaks, whether or not it still ticks: a service that is down for a week keeps its runs. Who
-- prunes says its own rules, too (`retention`). Where two say something else, the longer time counts, since what is deleted is gone.
create or replace function layover.find_retention(p jsonb) returns jsonb
language sql stable as $$
  select coalesce(jsonb_object_agg(q.workflow, q.keeps), '{}')
    from (
      select o.workflow, jsonb_object_agg(o.outcome, o.keep_ms) as keeps
        from (
          select w.key as workflow, k.key as outcome, max(k.value::bigint) as keep_ms
            from (
              select p->'retention' as rules
              union all (
                select d.retention from (
                  select distinct on (e.name) e.retention from layover.deployment e
                   where e.namespace = p->>'namespace' order by e.name, e.deployed_at desc, e.id) as d)
            ) as r, jsonb_each(r.rules) as w, jsonb_each_text(w.value) as k
           group by w.key, k.key
        ) as o
       group by o.workflow
    ) as q
$$;

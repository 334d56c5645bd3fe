-- Answers what is due and is carried by other live deployments only: the address of each, and since when the first of its runs or schedules
-- is due. Null: nothing is. The scheduler rings there, since the alarm that rang may be the only one that stands for them.
--
-- It looks for runs only if some deployment carries a version that the caller does not.
create or replace function layover.list_elsewhere(p jsonb, at timestamptz) returns json
language plpgsql volatile as $$
begin
  return (
    select json_agg(json_build_object('address', o.wake_address, 'dueAt', layover.to_ms(o.due_at)) order by o.due_at, o.wake_address)
      from (
        select d.wake_address, min(least(t.due_at, v.due_at)) as due_at
          from layover.live_deployments(p->>'namespace') as l
          join layover.deployment d on d.namespace = p->>'namespace' and d.name = l.name and d.id = l.id
          left join lateral (
            select t.due_at from layover.run_state t join layover.run r on r.id = t.run_id
             where t.namespace = p->>'namespace' and t.due_at <= at and d.versions->r.workflow @> to_jsonb(r.version)
               and not layover.is_carried_here(p, r.workflow, r.version)
             order by t.due_at limit 1
          ) as t on true
          left join lateral (
            select o.due_at from layover.schedule o
             where o.namespace = p->>'namespace' and o.due_at <= at and d.versions->o.workflow @> to_jsonb(o.version)
               and not layover.is_carried_here(p, o.workflow, o.version)
             order by o.due_at limit 1
          ) as v on true
         where d.wake_address is not null and not p->'versions' @> d.versions
           and coalesce(t.due_at, v.due_at) is not null
         group by d.wake_address
      ) as o);
end $$;

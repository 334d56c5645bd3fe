-- Answers the first 500 schedules that are due, of workflows that this deployment carries. Each comes with the instant for which the
-- scheduler must arm before it calls fire_schedules: its own, if it is looked at early, or else its next one. Null: none is due.
create or replace function layover.list_due_schedules(p jsonb, at timestamptz) returns json
language plpgsql stable as $$
begin
  return (
    select json_agg(json_build_object('name', v.name, 'lookAt', layover.to_ms(case when v.fires_at > at then v.fires_at
        else v.then_at + layover.jitter_of(v.name, v.definition, v.then_at) end)) order by v.due_at, v.name)
      from (
        select o.name, o.definition, o.due_at, o.fires_at,
            case when o.fires_at <= at then layover.next_instant(o.name, o.definition,
              layover.last_instant(o.name, o.definition, o.next_at, at)) end as then_at
          from layover.schedule o
         where o.namespace = p->>'namespace' and o.due_at <= at and layover.is_carried_here(p, o.workflow, o.version)
         order by o.due_at, o.name limit 500
      ) as v);
end $$;

-- Answers the first 500 schedules that are due, of workflows that this deployment carries, without those that `except` names. Each comes
-- with the instant for which the scheduler must arm before it calls fire_schedules: its own, if it is looked at early, or else its next one.
-- Null: none is due.
--
-- If an instant cannot be computed, each comes without one, since list_due answers due runs as well. They are looked at in the motion minute.
create or replace function layover.list_due_schedules(p jsonb, at timestamptz) returns json
language plpgsql stable as $$
declare
  v_except constant text[] := array(select n from jsonb_array_elements_text(p->'except') as n);
begin
  return (
    select json_agg(json_build_object('name', v.name, 'lookAt', layover.to_ms(case when v.fires_at > at then v.fires_at
        else v.then_at + layover.jitter_of(v.name, v.definition, v.then_at) end)) order by v.due_at, v.name)
      from (
        select o.name, o.definition, o.due_at, o.fires_at,
            case when o.fires_at <= at then layover.next_instant(o.name, o.definition,
              layover.last_instant(o.name, o.definition, o.next_at, at)) end as then_at
          from layover.schedule o
         where o.namespace = p->>'namespace' and o.due_at <= at and o.name <> all (v_except)
           and layover.is_carried_here(p, o.workflow, o.version)
         order by o.due_at, o.name limit 500
      ) as v);
exception when others then
  return (
    select json_agg(json_build_object('name', v.name, 'lookAt', null) order by v.due_at, v.name)
      from (
        select o.name, o.due_at
          from layover.schedule o
         where o.namespace = p->>'namespace' and o.due_at <= at and o.name <> all (v_except)
           and layover.is_carried_here(p, o.workflow, o.version)
         order by o.due_at, o.name limit 500
      ) as v);
end $$;

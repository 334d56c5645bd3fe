-- Registers all schedules that the code of a deployment declares (`schedules`: definitions by name), when it notes that it is deployed. Those
-- that it declared before, and does not declare any more, are given up (give_up_schedule). Of many it registers some with each call: then
-- `names` has all, and comes with the last call (note_deployment). The pause of an operator stays. What cannot be registered stays as it was.
--
-- A name has one owner. What another deployment declares there is kept in `declarations`: if it is the same, it may be given the schedule
-- later; if it is something else, it is refused (adopt_schedule). Rows are locked by name, as everywhere. Answers {"refused", "invalid", "passed"}.
-- `passed`: their one instant (`at`) had passed before they were declared, so they never fire.
create or replace function layover.declare_schedules(p jsonb) returns jsonb
language plpgsql volatile as $$
declare
  v_owner   constant text := p->>'deploymentName';
  v_refused jsonb := '[]';
  v_invalid jsonb := '[]';
  v_given   jsonb;
  v_why     text;
  v_name    text;
  v         layover.schedule;
begin
  for v_name in
    (select o.name from layover.schedule o
      where o.namespace = p->>'namespace' and (o.owner = v_owner or o.declarations ? v_owner) and p->>'note' <> 'declaring'
     except
     select n from jsonb_array_elements_text(p->'names') as n)
    union
    select e.key from jsonb_object_keys(p->'schedules') as e (key)
    order by 1
  loop
    v_given := p->'schedules'->v_name;
    select o.* into v from layover.schedule o where o.namespace = p->>'namespace' and o.name = v_name for update;
    if v_given is null then
      perform layover.give_up_schedule(p, v);
    elsif v_given = 'null' then
      continue; -- its code found that it cannot be registered
    elsif v.owner = v_owner and layover.is_same_schedule(v.definition, v_given) and layover.why_stopped(v) is null then
      perform layover.keep_schedule(v, v_given);
    elsif found and v.owner is distinct from v_owner then
      update layover.schedule o set declarations = coalesce(o.declarations, '{}') || jsonb_build_object(v_owner, v_given)
       where o.namespace = v.namespace and o.name = v.name;
      if not layover.is_same_schedule(v.definition, v_given) then
        v_refused := v_refused || jsonb_build_object('name', v_name, 'owner', v.owner);
      end if;
    else
      v_why := layover.check_schedule(v_name, v_given);
      if v_why is not null then
        v_invalid := v_invalid || jsonb_build_object('name', v_name, 'reason', v_why);
      elsif not layover.write_schedule(p, v, v_name, v_owner, v_given) then
        return layover.declare_schedules(p); -- another deployment has just made it
      end if;
    end if;
  end loop;
  return jsonb_build_object('refused', v_refused, 'invalid', v_invalid, 'passed', (
    select coalesce(jsonb_agg(jsonb_build_object('name', o.name, 'at', o.definition->'at') order by o.name), '[]')
      from layover.schedule o
     where o.namespace = p->>'namespace' and o.name = any (array(select e.key from jsonb_object_keys(p->'schedules') as e (key)))
       and o.owner = v_owner and o.definition ? 'at' and o.next_at is null
       and o.last_at is distinct from layover.from_ms((o.definition->>'at')::bigint)));
end $$;

-- Takes back that a deployment declares a schedule, which its caller has locked. If the schedule is its own, it is given to another live
-- deployment that declares it, first to one that declares the same: that changes nothing but the owner. If there is none, it is deleted.
-- A deployment that is not alive declares anew when it comes back.
create or replace function layover.give_up_schedule(p jsonb, v layover.schedule) returns void
language plpgsql volatile as $$
declare
  v_heir text;
begin
  if v.owner is distinct from p->>'deploymentName' then
    update layover.schedule o set declarations = nullif(o.declarations - (p->>'deploymentName'), '{}')
     where o.namespace = v.namespace and o.name = v.name;
    return;
  end if;
  v_heir := (
    select l.name from layover.live_deployments(v.namespace) as l
     where v.declarations ? l.name and layover.check_schedule(v.name, v.declarations->l.name) is null
     order by layover.is_same_schedule(v.definition, v.declarations->l.name) desc, l.name limit 1);
  if v_heir is null then
    perform layover.remove_schedule(v);
  else
    v.owner := null; -- so that nothing is kept of its declaration
    perform layover.write_schedule(p, v, v.name, v_heir, v.declarations->v_heir);
  end if;
end $$;

-- Answers the addresses at which live deployments can be rung, which carry this run's version and have not refused the run. Null: there is
-- none. The caller's own address may be among them. Hosts that serve one build may have one id, so the id does not tell them apart.
create or replace function layover.list_carriers(p jsonb, run uuid, refused_by jsonb) returns json
language plpgsql volatile as $$
begin
  return (
    select json_agg(distinct d.wake_address)
      from layover.run r
      cross join lateral layover.live_deployments(r.namespace) as l
      join layover.deployment d on d.namespace = r.namespace and d.name = l.name and d.id = l.id
     where r.id = run and d.wake_address is not null
       and d.versions->r.workflow @> to_jsonb(r.version)
       and (list_carriers.refused_by is null or not layover.has_refused(list_carriers.refused_by, r.namespace, d.id)));
end $$;

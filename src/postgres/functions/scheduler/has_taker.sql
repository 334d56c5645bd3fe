-- Whether a live deployment carries the version of a run and has not refused it.
create or replace function layover.has_taker(run uuid, refused_by jsonb) returns boolean
language plpgsql volatile as $$
begin
  return exists (
    select from layover.run r cross join lateral layover.live_deployments(r.namespace) as d
     where r.id = run and d.versions->r.workflow @> to_jsonb(r.version)
       and not layover.has_refused(has_taker.refused_by, r.namespace, d.id));
end $$;

-- Whether a deployment has refused a run and was not deployed again since. After a new deploy its code may be another one under the
-- same id.
create or replace function layover.has_refused(refused_by jsonb, namespace text, deployment text) returns boolean
language sql stable as $$
  select coalesce(refused_by ? deployment and not exists (
    select from layover.deployment d
     where d.namespace = has_refused.namespace and d.id = deployment
       and layover.to_ms(d.deployed_at) > (refused_by->deployment->>'at')::bigint), false)
$$;

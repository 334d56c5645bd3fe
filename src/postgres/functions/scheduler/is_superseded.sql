-- Whether a newer build of the same deployment has declared its schedules since this one did, and is still there. A build that was noted by
-- `layover deployed` has declared nothing since, so it is the newest.
create or replace function layover.is_superseded(namespace text, name text, id text) returns boolean
language sql stable as $$
  select exists (
    select from layover.deployment d
      join layover.deployment o on o.namespace = d.namespace and o.name = d.name and o.declared_at > d.declared_at
     where d.namespace = $1 and d.name = $2 and d.id = $3 and o.seen_at > layover.now() - interval '2 hours')
$$;

-- nothing -> counts: lists an API key that was just made, so that it can be seen, and revoked by its name. The same id again changes
-- nothing. A name that another valid key has is `taken`.
create or replace function layover.create_key(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  -- If two calls come at once with one name, the second waits here and then finds the first one's row.
  perform pg_catalog.pg_advisory_xact_lock(7812089, pg_catalog.hashtext('key ' || (p->>'namespace') || ' ' || (p->>'name')));
  if exists (select from layover.api_key y where y.namespace = p->>'namespace' and y.name = p->>'name'
    and y.id <> (p->>'keyId')::uuid and y.revoked_at is null and (y.expires_at is null or y.expires_at > v_now))
  then
    return json_build_object('outcome', 'taken', 'now', layover.to_ms(v_now));
  end if;
  insert into layover.api_key (namespace, id, name, scopes, created_at, expires_at)
    values (p->>'namespace', (p->>'keyId')::uuid, p->>'name',
      array(select s.scope from jsonb_array_elements_text(p->'scopes') with ordinality as s (scope, place) order by s.place),
      v_now, layover.from_ms((p->>'expiresAt')::bigint))
    on conflict (namespace, id) do nothing;
  perform layover.check_time(p);
  return json_build_object('outcome', 'created', 'now', layover.to_ms(v_now));
end $$;

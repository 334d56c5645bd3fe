-- The API keys of a namespace that are known here, newest first.
create or replace function layover.list_keys(p jsonb) returns json
language sql volatile as $$
  select json_build_object('now', layover.to_ms(layover.now()), 'keys', coalesce(json_agg(json_build_object(
      'keyId', k.id, 'name', k.name, 'scopes', k.scopes, 'createdAt', layover.to_ms(k.created_at),
      'expiresAt', layover.to_ms(k.expires_at), 'revokedAt', layover.to_ms(k.revoked_at))
      order by coalesce(k.created_at, k.revoked_at) desc, k.id), '[]'))
    from layover.api_key k where k.namespace = p->>'namespace'
$$;

-- Answers the API keys of a namespace that are known here, newest first. Sessions that have ended are none (see revoke_key).
create or replace function layover.list_keys(p jsonb) returns json
language sql volatile as $$
  select json_build_object('now', layover.to_ms(layover.now()), 'keys', coalesce(json_agg(json_build_object(
      'keyId', y.id, 'name', y.name, 'scopes', y.scopes, 'createdAt', layover.to_ms(y.created_at),
      'expiresAt', layover.to_ms(y.expires_at), 'revokedAt', layover.to_ms(y.revoked_at))
      order by coalesce(y.created_at, y.revoked_at) desc, y.id), '[]'))
    from layover.api_key y where y.namespace = p->>'namespace' and (y.name is not null or y.expires_at is null)
$$;

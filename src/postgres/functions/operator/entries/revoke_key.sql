-- counts -> revoked, by the key's id, or by the name of the keys that count. An id that is known nowhere is stored as revoked: a key
-- that leaked can be revoked wherever it was made. A key of another namespace counts there alone: the answer says so. The same call
-- again changes nothing.
--
-- With `expiresAt` the id is that of a session of the dashboard which has ended. Its row goes a day after it would have ended by itself.
create or replace function layover.revoke_key(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now     constant timestamptz := layover.now();
  v_made_in text;
  v_revoked json;
begin
  if p ? 'keyId' then
    select y.namespace into v_made_in from layover.api_key y
     where y.id = (p->>'keyId')::uuid and y.name is not null;
    if v_made_in <> p->>'namespace' then
      return json_build_object('outcome', 'elsewhere', 'madeIn', v_made_in, 'keys', '[]'::json, 'now', layover.to_ms(v_now));
    end if;
    if p ? 'expiresAt' then
      delete from layover.api_key y
       where (y.namespace, y.id) in (
         select o.namespace, o.id from layover.api_key o
          where o.namespace = p->>'namespace' and o.name is null and o.expires_at < v_now - interval '1 day'
          order by o.id limit 100 for update skip locked);
    end if;
    insert into layover.api_key as y (namespace, id, revoked_at, expires_at)
      values (p->>'namespace', (p->>'keyId')::uuid, v_now, layover.from_ms((p->>'expiresAt')::bigint))
      on conflict (namespace, id) do update set revoked_at = coalesce(y.revoked_at, excluded.revoked_at);
    select json_agg(json_build_object('keyId', y.id, 'name', y.name)) into v_revoked
      from layover.api_key y where y.namespace = p->>'namespace' and y.id = (p->>'keyId')::uuid;
  else
    with revoked as (
      update layover.api_key y set revoked_at = v_now
       where y.namespace = p->>'namespace' and y.name = p->>'name' and y.revoked_at is null
       returning y.id, y.name
    )
    select json_agg(json_build_object('keyId', r.id, 'name', r.name) order by r.id) into v_revoked from revoked r;
  end if;
  perform layover.check_time(p);
  return json_build_object('outcome', case when v_revoked is null then 'unknown' else 'revoked' end,
    'keys', coalesce(v_revoked, '[]'), 'now', layover.to_ms(v_now));
end $$;

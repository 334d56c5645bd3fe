-- Refuses a revoked API key. A verb that came with a key asks this in its own call, before it answers or writes anything. A key without
-- a row here counts, since it carries its MAC. `sessionId`: the key is used by a session of the dashboard, which may have ended before.
create or replace function layover.check_key(p jsonb) returns json
language plpgsql volatile as $$
begin
  if exists (select from layover.api_key y where y.namespace = coalesce(p->>'namespace', 'default')
    and y.id in ((p->>'keyId')::uuid, (p->>'sessionId')::uuid) and y.revoked_at is not null)
  then
    raise exception 'the API key % was revoked, or its session has ended', p->>'keyId' using errcode = 'LO005';
  end if;
  return json_build_object('outcome', 'counts');
end $$;

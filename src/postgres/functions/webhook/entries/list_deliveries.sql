-- Lists deliveries, the newest first, a page at a time: of one webhook (`webhook`), or those that were not carried out (`isOpen`). `before`
-- is the last one of the page before.
create or replace function layover.list_deliveries(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_before constant timestamptz := coalesce(layover.from_ms((p->'before'->>'receivedAt')::bigint) + interval '1 millisecond', 'infinity');
  v_found  layover.delivery[];
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  v_found := array(
    select j from layover.delivery j
     where j.namespace = coalesce(p->>'namespace', 'default') and j.received_at < v_before
       and (not p ? 'webhook' or j.webhook = p->>'webhook')
       and (not p ? 'isOpen' or j.outcome <> 'done')
       and (not p ? 'before' or (j.received_at, j.webhook, j.id) < (
         select o.received_at, o.webhook, o.id from layover.delivery o where o.namespace = coalesce(p->>'namespace', 'default')
            and o.webhook = p->'before'->>'webhook' and o.id = p->'before'->>'id'))
     order by j.received_at desc, j.webhook desc, j.id desc limit (p->>'limit')::integer);
  return json_build_object('deliveries', (
    select coalesce(json_agg(layover.describe_delivery(f) order by f.received_at desc, f.webhook desc, f.id desc), '[]')
      from unnest(v_found) as f));
end $$;

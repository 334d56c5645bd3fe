-- Answers a delivery with its headers and its event, as long as they are kept.
create or replace function layover.get_delivery(p jsonb) returns json
language plpgsql volatile as $$
declare
  j layover.delivery;
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  select o.* into j from layover.delivery o
   where o.namespace = coalesce(p->>'namespace', 'default') and o.webhook = p->>'webhook' and o.id = p->>'delivery';
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  -- `jsonb` takes no \u0000, which a sender may send.
  return format('%s, "headers": %s, "event": %s}', rtrim(layover.describe_delivery(j)::text, '}'), coalesce(j.headers, 'null'),
    coalesce(j.event, 'null'));
end $$;

-- any outcome -> gone, 30 days after the delivery came. Its event and headers go after a week. A bounded number at a time.
create or replace function layover.prune_deliveries(p jsonb) returns void
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  delete from layover.delivery j
   where (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.namespace = p->>'namespace' and o.received_at <= v_now - interval '30 days'
      order by o.received_at limit (p->>'limit')::integer for update skip locked);
  update layover.delivery j set event = null, headers = null
   where (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.namespace = p->>'namespace' and o.event is not null and o.received_at <= v_now - interval '7 days'
      order by o.received_at limit (p->>'limit')::integer for update skip locked);
end $$;

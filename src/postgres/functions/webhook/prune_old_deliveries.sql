-- any outcome -> gone, 30 days after the delivery came. Its event and headers go after a week. A bounded number at a time. It answers whether
-- another call may find more at once.
create or replace function layover.prune_old_deliveries(p jsonb) returns boolean
language plpgsql volatile as $$
declare
  v_now     constant timestamptz := layover.now();
  v_limit   constant integer := (p->>'limit')::integer;
  v_deleted integer;
  v_emptied integer;
begin
  delete from layover.delivery j
   where (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.namespace = p->>'namespace' and o.received_at <= v_now - interval '30 days'
      order by o.received_at limit v_limit for update skip locked);
  get diagnostics v_deleted = row_count;
  update layover.delivery j set event = null, headers = null
   where (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.namespace = p->>'namespace' and o.event is not null and o.received_at <= v_now - interval '7 days'
      order by o.received_at limit v_limit for update skip locked);
  get diagnostics v_emptied = row_count;
  return v_deleted = v_limit or v_emptied = v_limit;
end $$;

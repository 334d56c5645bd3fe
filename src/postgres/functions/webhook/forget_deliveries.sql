-- Drops what deliveries have brought to these runs: bodies and headers, which are kept for a week otherwise, and why a delivery was not
-- carried out. That it came, and what became of it, stays. One that somebody is carrying out at this moment is left out: its lock comes
-- before that of a run.
create or replace function layover.forget_deliveries(namespace text, runs uuid[]) returns void
language plpgsql volatile as $$
begin
  update layover.delivery j set event = null, headers = null, reason = case when j.reason is not null then 'its run was deleted' end
   where (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.namespace = forget_deliveries.namespace and o.event is not null and exists (
        select from jsonb_array_elements(o.deeds::jsonb) as d (deed) where (d.deed->>'runId')::uuid = any (runs))
      order by o.received_at for update skip locked);
end $$;

-- Drops what deliveries have brought to these runs: bodies and headers, which are kept for a week otherwise, and why a delivery was not
-- carried out. That it came, and what became of it, stays. One that somebody has locked at this moment is left out, since its lock comes
-- before that of a run: who carries it out, or a scheduler that waits for others (send_kept_signals).
--
-- An index finds them by their runs, also among all deliveries of a busy week. The search does not name the namespace: without statistics
-- Postgres would take the index that begins with it, and read them all.
create or replace function layover.forget_deliveries(namespace text, runs uuid[]) returns void
language plpgsql volatile as $$
begin
  update layover.delivery j set event = null, headers = null, reason = case when j.reason is not null then 'its run was deleted' end
   where j.namespace = forget_deliveries.namespace and (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.event is not null and jsonb_path_query_array(o.deeds::jsonb, '$[*].runId') ?| runs::text[] for update skip locked);
end $$;

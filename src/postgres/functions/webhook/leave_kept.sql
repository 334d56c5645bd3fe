-- done -> refused or expired, when a signal of the delivery was kept and no run took it. If the delivery is being carried out anew, that
-- decides what becomes of it.
create or replace function layover.leave_kept(u layover.kept_signal, outcome text, reason text) returns jsonb
language plpgsql volatile as $$
begin
  update layover.delivery j set outcome = leave_kept.outcome, reason = leave_kept.reason, decided_at = layover.now()
   where (j.namespace, j.webhook, j.id) in (
     select o.namespace, o.webhook, o.id from layover.delivery o
      where o.namespace = u.namespace and o.webhook = u.webhook and o.id = u.delivery for update skip locked);
  return jsonb_build_object('webhook', u.webhook, 'delivery', u.delivery, 'outcome', outcome, 'reason', reason);
end $$;

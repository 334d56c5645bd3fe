-- kept -> gone, when no run takes a signal of a delivery: the delivery, done until then, is refused or expired. Answers that as a list of one.
-- If the delivery was carried out anew since, the list is empty: what became of it then stands, and a signal that was kept once more
-- decides later.
--
-- Null: somebody else has locked the delivery, so the signal stays. The caller may have locked a run, and may not wait then.
create or replace function layover.leave_kept(u layover.kept_signal, outcome text, reason text) returns jsonb
language plpgsql volatile as $$
declare
  v_is_there boolean;
begin
  perform from layover.delivery j
   where j.namespace = u.namespace and j.webhook = u.webhook and j.id = u.delivery for update skip locked;
  v_is_there := found;
  if not v_is_there and exists (select from layover.delivery j
      where j.namespace = u.namespace and j.webhook = u.webhook and j.id = u.delivery) then
    return null;
  end if;
  delete from layover.kept_signal o
   where o.namespace = u.namespace and o.workflow = u.workflow and o.user_id = u.user_id and o.number = u.number;
  update layover.delivery j set outcome = leave_kept.outcome, reason = leave_kept.reason, decided_at = layover.now()
   where j.namespace = u.namespace and j.webhook = u.webhook and j.id = u.delivery
     and j.deeds::jsonb @> '[{"signal": "kept"}]' and not exists (
       select from layover.kept_signal o
        where o.namespace = u.namespace and o.workflow = u.workflow and o.user_id = u.user_id and o.number > u.number
          and o.webhook = u.webhook and o.delivery = u.delivery and o.name = u.name and o.dedupe_id = u.dedupe_id);
  return case when v_is_there and not found then '[]' else jsonb_build_array(
    jsonb_build_object('webhook', u.webhook, 'delivery', u.delivery, 'outcome', outcome, 'reason', reason)) end;
end $$;

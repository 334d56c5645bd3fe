-- Gives back what a run had taken after the cut, in its old order: signals, and the answers to callbacks whose URLs live on. A callback
-- that had expired is open again. What it had taken before the cut counts as taken in the new epoch.
create or replace function layover.untake_mail(run uuid, epoch integer, kept integer[], segments jsonb) returns void
language plpgsql volatile as $$
begin
  update layover.signal g
     set position = (select k.place from unnest(kept) with ordinality as k (position, place) where k.position = g.position),
         taken_epoch = untake_mail.epoch + 1
   where g.run_id = run and g.position is not null and g.taken_epoch = untake_mail.epoch;
  delete from layover.callback k
    using layover.record h
   where k.run_id = run and k.outcome = 'expired' and h.run_id = run and h.epoch = untake_mail.epoch and h.kind = 'callback'
     and h.path = k.path and h.occurrence = k.occurrence and not h.position = any (kept)
     and exists (select from jsonb_array_elements(segments) as g (segment) where layover.url_epoch(run, g.segment) = k.epoch);
  update layover.callback k set position = null
    from layover.record h
   where k.run_id = run and k.position is not null and h.run_id = run and h.epoch = untake_mail.epoch and h.kind = 'callback'
     and h.path = k.path and h.occurrence = k.occurrence and not h.position = any (kept)
     and exists (select from jsonb_array_elements(segments) as g (segment) where layover.url_epoch(run, g.segment) = k.epoch);
end $$;

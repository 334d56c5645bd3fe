-- Marks callbacks as expired whose wait timed out, so that a later answer is told so.
--
-- None of them has an answer. A wait times out only after it was recorded, and from then on answer_callback knows its deadline. (The
-- code of an earlier release may time out a callback that has one.)
create or replace function layover.expire_callbacks(run uuid, epoch integer, after integer, records jsonb) returns void
language plpgsql volatile as $$
begin
  insert into layover.callback (run_id, epoch, path, occurrence, outcome, answered_at, position)
    select run, coalesce((h.item->>'callbackEpoch')::integer, expire_callbacks.epoch), h.item->>'path', (h.item->>'occurrence')::integer, 'expired',
        layover.from_ms((h.item->>'at')::bigint), after + h.place
      from jsonb_array_elements(coalesce(records, '[]')) with ordinality as h (item, place)
     where h.item->>'kind' = 'callback' and not h.item ? 'value'
    on conflict on constraint callback_pkey do update
      set outcome = excluded.outcome, value = null, answered_at = excluded.answered_at, position = excluded.position;
end $$;

-- nothing -> done or refused, when a delivery of a sender was verified. It carries out all deeds of the delivery or none, and notes what
-- became of it, in one transaction. So whatever dies, a delivery is done once or not at all.
--
-- A delivery that is done does nothing when it comes again: by its id, or by its body (`bodyMac`), where the sender does not sign the id. While a
-- root secret is replaced, it may have come under the old one (`olderBodyMacs`).
-- It only answers which of its runs are ready still, since the answer that told of them may have been lost.
-- One that was refused, failed or expired is tried anew. `refused` and `failed` say why the code before has nothing to carry out.
-- `replay` says who has it carried out again, though it was done. If that fails, it stays done.
--
-- Locks: the delivery, then what carry_out_deeds locks. Of one delivery that comes many times at once, the others wait for the first.
create or replace function layover.receive_delivery(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_namespace constant text := coalesce(p->>'namespace', 'default');
  v_macs    constant text[] := array(
    select p->>'bodyMac' where p ? 'bodyMac' union all select m from jsonb_array_elements_text(p->'olderBodyMacs') as m);
  v_now     timestamptz := layover.now();
  v_stays   boolean;
  v_reason  text := coalesce(p->>'refused', p->>'failed');
  v_outcome text := case when p ? 'failed' then 'failed' else 'refused' end;
  v_done    json := json_build_object('deeds', '[]'::json, 'turns', '[]'::json);
  j         layover.delivery;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  if p ? 'bodyMac' then
    update layover.delivery o set body_mac = null
     where o.namespace = v_namespace and o.webhook = p->>'webhook' and o.body_mac = any (v_macs)
       and o.received_at <= v_now - (p->>'bodyWindowMs')::bigint * interval '1 millisecond';
  end if;
  loop
    insert into layover.delivery (namespace, webhook, id, body_mac, outcome, reason, deeds, headers, event, attempts, received_at, decided_at)
      select v_namespace, p->>'webhook', p->>'delivery', p->>'bodyMac', 'failed', '', '[]', p->>'headers', p->>'event', 0, v_now, v_now
       where not exists (
         select from layover.delivery o where o.namespace = v_namespace and o.webhook = p->>'webhook' and o.body_mac = any (v_macs))
      on conflict do nothing;
    select o.* into j from layover.delivery o
     where o.namespace = v_namespace and o.webhook = p->>'webhook'
       and (o.id = p->>'delivery' or o.body_mac = any (v_macs))
     order by (o.id = p->>'delivery') desc limit 1 for update;
    exit when found; -- otherwise it was pruned meanwhile: insert again
  end loop;
  if j.outcome = 'done' and not p ? 'replay' then
    return json_build_object('outcome', 'duplicate', 'delivery', j.id, 'deeds', j.deeds::json,
      'turns', layover.turns_of_deeds(j.deeds::jsonb, v_now), 'now', layover.to_ms(v_now));
  end if;
  p := p || jsonb_build_object('delivery', j.id);
  if v_reason is null then
    begin
      v_done := layover.carry_out_deeds(p, p->'deeds');
      v_outcome := 'done';
    exception when sqlstate 'LO006' or sqlstate 'LO007' or sqlstate 'LO015' then
      v_reason := sqlerrm;
    end;
  end if;
  v_now := layover.now();
  v_stays := v_outcome <> 'done' and j.outcome = 'done';
  update layover.delivery o
     set outcome = case when v_stays then 'done' else v_outcome end, reason = case when not v_stays then v_reason end,
         deeds = case when v_stays then o.deeds else v_done->>'deeds' end, attempts = o.attempts + 1, decided_at = v_now,
         event = coalesce(p->>'event', o.event), headers = coalesce(p->>'headers', o.headers),
         replays = case when p ? 'replay' then (coalesce(o.replays, '[]')::jsonb
           || (p->'replay' || jsonb_build_object('at', layover.to_ms(v_now))))::text else o.replays end
   where o.namespace = j.namespace and o.webhook = j.webhook and o.id = j.id;
  perform layover.check_armed(p);
  return json_build_object('outcome', v_outcome, 'reason', v_reason, 'delivery', j.id, 'deeds', v_done->'deeds', 'turns', v_done->'turns',
    'now', layover.to_ms(v_now));
end $$;

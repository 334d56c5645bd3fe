-- running -> running, while a body takes its time. Only the holder of the lease may; due_at stays. A holder that comes too late is alive,
-- so the lost lease does not count (spare_loss).
--
-- The same call says that a turn which goes alone is about to begin. `beginnings` is then how many have begun in a row, with this one.
create or replace function layover.renew_leases(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_lease   constant interval := (p->>'leaseMs')::integer * interval '1 millisecond';
  v_answers json[] := '{}';
  v_until   timestamptz;
  v_item    record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  for v_item in select i.turn, i.place from layover.in_lock_order(p->'turns') as i loop
    v_until := null;
    if v_item.turn ? 'path' then
      update layover.pending b
         set leased_until = layover.now() + v_lease,
             beginnings = coalesce((v_item.turn->>'beginnings')::integer, b.beginnings)
       where b.run_id = (v_item.turn->>'runId')::uuid and b.path = v_item.turn->>'path'
         and b.occurrence = (v_item.turn->>'occurrence')::integer and b.token = (v_item.turn->>'token')::uuid
         and exists (select from layover.run_state t where t.run_id = b.run_id and t.namespace = p->>'namespace')
       returning b.leased_until into v_until;
    else
      update layover.run_state t
         set leased_until = layover.now() + v_lease,
             beginnings = coalesce((v_item.turn->>'beginnings')::integer, t.beginnings)
       where t.run_id = (v_item.turn->>'runId')::uuid and t.namespace = p->>'namespace'
         and t.token = (v_item.turn->>'token')::uuid
       returning t.leased_until into v_until;
    end if;
    if v_until is null and exists (select from layover.run_state t
      where t.run_id = (v_item.turn->>'runId')::uuid and t.namespace = p->>'namespace')
    then
      perform layover.spare_loss((v_item.turn->>'runId')::uuid, v_item.turn->>'path',
        (v_item.turn->>'occurrence')::integer, (v_item.turn->>'token')::uuid);
    end if;
    v_answers[v_item.place] := case when v_until is null then json_build_object('outcome', 'superseded')
      else json_build_object('outcome', 'renewed', 'leasedUntil', layover.to_ms(v_until)) end;
  end loop;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

-- running -> parked, of the same turn, when the holder gives back its lease unfinished, since its process ends. The next claim need not
-- wait for the end of the lease.
--
-- This is no finish, so all counters stay: a turn that kills its processes must be found out through any number of deploys. due_at stays
-- too; the next process to begin looks at all that is ready.
create or replace function layover.return_leases(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_answers json[] := '{}';
  v_item    record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  for v_item in select i.turn, i.place from layover.in_lock_order(p->'turns') as i loop
    if v_item.turn ? 'path' then
      update layover.pending b
         set token = null, leased_until = null
       where b.run_id = (v_item.turn->>'runId')::uuid and b.path = v_item.turn->>'path'
         and b.occurrence = (v_item.turn->>'occurrence')::integer and b.token = (v_item.turn->>'token')::uuid
         and exists (select from layover.run_state t where t.run_id = b.run_id and t.namespace = p->>'namespace');
    else
      update layover.run_state t
         set status = 'parked', token = null, leased_until = null, ready_at = 'epoch'
       where t.run_id = (v_item.turn->>'runId')::uuid and t.namespace = p->>'namespace'
         and t.token = (v_item.turn->>'token')::uuid;
    end if;
    v_answers[v_item.place] := json_build_object('outcome', case when found then 'returned' else 'superseded' end);
  end loop;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

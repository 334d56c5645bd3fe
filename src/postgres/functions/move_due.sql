-- The scheduler has looked and armed: the next instant to look, and one more dispatch for what it is about to dispatch.
-- A run that moved since it was listed is left alone.
create or replace function layover.move_due(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_moved integer := 0;
  v_item  record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.refuse_isolation();
  end if;
  for v_item in
    select (m->>'runId')::uuid as run_id, layover.from_ms((m->>'seenDueAt')::bigint) as seen_due_at,
        layover.from_ms((m->>'dueAt')::bigint) as due_at, coalesce((m->>'isDispatched')::boolean, false) as is_dispatched,
        m->'branches' as branches
      from jsonb_array_elements(p->'moves') as m order by (m->>'runId')::uuid
  loop
    update layover.run_state t
       set due_at = case when t.blocked is null then v_item.due_at end,
           dispatches = least(t.dispatches + v_item.is_dispatched::integer, 100)
     where t.run_id = v_item.run_id and t.namespace = p->>'namespace' and t.ended_at is null and t.paused_at is null
       and t.due_at is not distinct from v_item.seen_due_at;
    if found then
      v_moved := v_moved + 1;
      update layover.pending b set dispatches = least(b.dispatches + 1, 100)
        from jsonb_array_elements(v_item.branches) as q (branch)
       where b.run_id = v_item.run_id and b.path = q.branch->>'path'
         and b.occurrence = (q.branch->>'occurrence')::integer;
    end if;
  end loop;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'moved', v_moved);
end $$;

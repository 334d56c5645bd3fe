-- running -> running until later, or -> parked when the holder gives its lease back (`gives_back`): what renew_leases and
-- return_leases share. Only the holder of a lease moves it. What is given back is due now, for the next tick.
--
-- A renewal also tells that the run's cancel was asked for, or that the run closes (`cancel`), unless the branch cleans up, or the handler
-- knows of the cancel already. And it tells the run's timeout, which a pause puts off: null while the run is paused.
create or replace function layover.move_leases(p jsonb, gives_back boolean) returns json
language plpgsql volatile as $$
declare
  v_saying constant text[] := array( -- runs that say something of themselves (custom_status)
    select (o->>'runId')::uuid::text from jsonb_array_elements(p->'turns') as o where o ? 'says');
  v_answers json[] := '{}';
  v_until   timestamptz;
  v_cancel  json;
  v_timeout timestamptz;
  i         record;
begin
  perform layover.check_isolation();
  for i in
    select o.turn, o.place, (o.turn->>'runId')::uuid as run_id, o.turn->>'path' as path,
        (o.turn->>'occurrence')::integer as occurrence, (o.turn->>'token')::uuid as token
      from layover.in_lock_order(p->'turns') as o
  loop
    if p ? 'skipsLocked' and not layover.lock_leased(i.run_id, i.path, i.occurrence, says => i.turn ? 'says') then
      v_answers[i.place] := json_build_object('outcome', 'locked');
      continue;
    end if;
    if i.path is not null then
      if gives_back or i.run_id::text = any (v_saying) and not p ? 'skipsLocked' then -- the run is locked before its branches
        perform from layover.run_state t where t.run_id = i.run_id for update;
      end if;
      update layover.pending b
         set token = case when not gives_back then b.token end,
             leased_until = case when not gives_back then layover.lease_end(p, layover.now()) end,
             beginnings = coalesce((i.turn->>'beginnings')::integer, b.beginnings),
             begun = coalesce(i.turn->>'begins', b.begun)
        from layover.run_state t
       where b.run_id = i.run_id and b.path = i.path and b.occurrence = i.occurrence and b.token = i.token
         and t.run_id = b.run_id and t.namespace = p->>'namespace'
       returning b.leased_until, case when not b.is_shielded then layover.describe_cancel(t) end,
         case when t.paused_at is null then t.timeout_at end into v_until, v_cancel, v_timeout;
    else
      update layover.run_state t
         set status = case when gives_back then 'parked' else 'running' end,
             token = case when not gives_back then t.token end,
             leased_until = case when not gives_back then layover.lease_end(p, layover.now()) end,
             ready_at = case when gives_back then 'epoch' else t.ready_at end,
             is_interrupted = t.is_interrupted or gives_back,
             beginnings = coalesce((i.turn->>'beginnings')::integer, t.beginnings),
             begun = coalesce(i.turn->>'begins', t.begun),
             custom_status = coalesce(i.turn->>'says', t.custom_status)
       where t.run_id = i.run_id and t.namespace = p->>'namespace' and t.token = i.token
       returning t.leased_until, layover.describe_cancel(t), case when t.paused_at is null then t.timeout_at end
       into v_until, v_cancel, v_timeout;
    end if;
    v_answers[i.place] := case when not found then json_build_object('outcome', 'superseded')
      when gives_back then json_build_object('outcome', 'returned')
      else json_build_object('outcome', 'renewed', 'leasedUntil', layover.to_ms(v_until), 'cancel', v_cancel,
        'timeoutAt', layover.to_ms(v_timeout)) end;
    if found and gives_back then
      update layover.run_state t set due_at = least(t.due_at, layover.now()) where t.run_id = i.run_id and layover.may_be_due(t);
    elsif found and i.path is not null and i.turn ? 'says' then
      update layover.run_state t set custom_status = i.turn->>'says' where t.run_id = i.run_id;
    elsif not found and not gives_back
      and exists (select from layover.run_state t where t.run_id = i.run_id and t.namespace = p->>'namespace')
    then
      perform layover.spare_loss(i.run_id, i.path, i.occurrence, i.token);
    end if;
  end loop;
  perform layover.check_time(p);
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

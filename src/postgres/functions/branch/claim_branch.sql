-- A branch: ready -> leased, when its turn is claimed. A claim that succeeds no more says why.
--
-- It locks the branch's row and then reads the run. Whoever stops a run locks the run, sets a flag, locks all its pending rows, and
-- then looks. So a stop and a claim cannot both succeed.
create or replace function layover.claim_branch(p jsonb, c jsonb) returns json
language plpgsql volatile as $$
declare
  v_run   constant uuid := (c->>'runId')::uuid;
  v_token constant uuid := (c->>'token')::uuid;
  v_alone constant boolean := not layover.is_group_too_large(p, c, 1);
  v_now   timestamptz;
  v_wear  text;
  v_have  integer;
  branch  record;
  s       record;
begin
  if not layover.claim_environment(p) then
    return json_build_object('outcome', 'wrong_environment');
  end if;
  if v_alone then -- it may set the branch back or block the run, and the run is locked first
    perform from layover.run_state t where t.run_id = v_run and t.namespace = p->>'namespace' for update;
  end if;
  -- A recorded branch is not locked, so that the next turn of the run may delete those that it has seen in any order.
  select b.turn, b.token, b.leased_until, b.ready_at, b.is_queued, b.is_released, b.is_shielded, b.claims, b.beginnings, b.attempts, b.begun,
      b.demanded_after, b.dispatches, layover.group_size(b.lost, b.spared, b.token is not null) as group_size
    into branch
    from layover.pending b
   where b.run_id = v_run and b.path = c->>'path' and b.occurrence = (c->>'occurrence')::integer and b.kind = 'branch'
     and b.position is null
     for update;
  if not found then
    return json_build_object('outcome', 'superseded');
  end if;
  v_now := layover.now();
  select t.epoch, t.status, t.last_position, t.paused_at, t.blocked, t.refused_by, t.last_record_at, t.handed_position,
      t.timeout_at, t.history_bytes, t.due_at,
      layover.stops_at(t) <= v_now as is_closing, t.cancelled_position,
      layover.is_carried_here(p, r.workflow, r.version) and layover.is_understood(p, t) as is_here
    into s
    from layover.run_state t join layover.run r on r.id = t.run_id
   where t.run_id = v_run and t.namespace = p->>'namespace';
  if not found then
    return json_build_object('outcome', 'unknown');
  elsif layover.is_over(s.status) then
    return json_build_object('outcome', 'over', 'status', s.status);
  elsif branch.turn <> (c->>'turn')::integer then
    return json_build_object('outcome', 'stale', 'turn', branch.turn);
  elsif branch.token is distinct from v_token then
    if branch.leased_until > v_now then
      return json_build_object('outcome', 'busy', 'until', layover.to_ms(branch.leased_until));
    elsif s.paused_at is not null then
      return json_build_object('outcome', 'paused');
    elsif s.blocked is not null then
      return json_build_object('outcome', 'blocked');
    elsif branch.is_released or (s.is_closing and (not branch.is_shielded or s.cancelled_position is not null)) then
      return json_build_object('outcome', 'superseded');
    elsif not s.is_here or (s.refused_by is not null
      and layover.has_refused(s.refused_by, p->>'namespace', p->>'deployment'))
    then
      return json_strip_nulls(json_build_object('outcome', 'not_here', 'carriers', layover.list_carriers(p, v_run, s.refused_by)));
    elsif branch.is_queued then
      return json_build_object('outcome', 'not_ready', 'readyAt', null);
    elsif branch.token is null and branch.ready_at > v_now then
      return json_build_object('outcome', 'not_ready', 'readyAt', layover.to_ms(branch.ready_at));
    elsif layover.is_group_too_large(p, c, branch.group_size) then
      return json_build_object('outcome', 'alone', 'groupSize', branch.group_size);
    elsif layover.is_due_late(p, branch.dispatches, s.due_at) then
      return json_build_object('outcome', 'due_late', 'dueAt', layover.to_ms(s.due_at));
    end if;
    v_wear := case when branch.group_size = 1 then layover.describe_wear(p, branch.claims, branch.beginnings,
      format('%s#%s', c->>'path', c->>'occurrence')) end;
    if v_wear is not null then
      update layover.pending b
         set beginnings = least(b.beginnings, (p->>'maxBeginnings')::integer - 1),
             lost = b.lost + (b.token is not null)::integer, spared = case when b.lost = 0 then 0 else b.spared end,
             lost_token = coalesce(b.token, b.lost_token)
       where b.run_id = v_run and b.path = c->>'path' and b.occurrence = (c->>'occurrence')::integer;
      return case when layover.set_back_branch(v_run, c->>'path', (c->>'occurrence')::integer, v_wear, null) is null
        then json_build_object('outcome', 'blocked')
        else json_build_object('outcome', 'not_ready', 'readyAt', null) end; -- its turn is another one now
    end if;
    update layover.pending b
       set token = v_token, leased_until = layover.lease_end(p, v_now), has_begun = true,
           lost = b.lost + (b.token is not null)::integer, spared = case when b.lost = 0 then 0 else b.spared end,
           lost_token = coalesce(b.token, b.lost_token),
           claims = b.claims + coalesce(branch.group_size = 1, false)::integer, dispatches = 0
     where b.run_id = v_run and b.path = c->>'path' and b.occurrence = (c->>'occurrence')::integer
     returning b.claims, b.leased_until into branch.claims, branch.leased_until;
  end if;
  v_have := case when (c->'have'->>'epoch')::integer = s.epoch
    and (c->'have'->>'position')::integer <= branch.demanded_after and layover.is_of_version(v_run, c->'have') then (c->'have'->>'position')::integer end;
  return json_build_object('outcome', 'claimed', 'now', layover.to_ms(v_now), 'epoch', s.epoch, 'turn', branch.turn,
    'have', v_have, 'position', branch.demanded_after, 'handedPosition', s.handed_position,
    'lastRecordAt', layover.to_ms(s.last_record_at), 'timeoutAt', layover.to_ms(s.timeout_at),
    'leasedUntil', layover.to_ms(branch.leased_until), 'claims', branch.claims, 'beginnings', branch.beginnings, 'begun', branch.begun,
    'attempts', branch.attempts,
    'records', case when branch.demanded_after > coalesce(v_have, 0)
      then layover.read_records(v_run, s.epoch, coalesce(v_have, 0), branch.demanded_after,
        layover.page_budget(s.history_bytes, s.last_position, (p->>'budgetBytes')::bigint)) end,
    'patches', case when branch.demanded_after > coalesce(v_have, -1) then layover.read_patches(v_run, s.epoch) end,
    'run', case when v_have is null then case when s.epoch = 0 then layover.read_run(v_run) else layover.read_epoch(v_run, s.epoch) end end);
end $$;

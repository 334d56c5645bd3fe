-- Claims a run that claim_runs has left:
-- running -> running, when a lease has expired.
-- running -> parked until it is tried again, or blocked, when that happened too often in a row.
-- blocked -> running, when new code may know better.
-- parked -> running, when the run's timeout has passed or it is to close for another reason (`cancel_requested_at`), and no branch is at
-- work but those that clean up: that is written into the history. So is the end of the hour that all its cleanups have.
-- parked -> running, when nobody has claimed in this namespace before, when the turn has lost two leases, or when another deployment has
-- refused the run.
--
-- In all other cases it answers why the claim fails.
create or replace function layover.reclaim_run(p jsonb, c jsonb) returns json
language plpgsql volatile as $$
declare
  v_run    constant uuid := (c->>'runId')::uuid;
  v_token  constant uuid := (c->>'token')::uuid;
  v_now    timestamptz;
  v_busy   timestamptz;
  v_is_late boolean;
  v_carried boolean;
  v_wear   text;
  v_until  timestamptz;
  v_ready  timestamptz;
  v_answer json;
  s        record;
begin
  if not layover.claim_environment(p) then
    return json_build_object('outcome', 'wrong_environment');
  end if;
  select t.status, t.turn, t.token, t.leased_until, t.ready_at, t.paused_at, t.claims, t.beginnings, t.epoch,
      layover.group_size(t.lost, t.spared, t.token is not null) as group_size,
      t.last_position, t.blocked, t.refused_by, t.last_record_at, t.dispatches, t.due_at,
      t.cancelled_position, t.cancel_requested_at is not null as is_cancel, t.is_closing, layover.stops_at(t) as stops_at,
      layover.is_understood(p, t) as is_understood
    into s
    from layover.run_state t where t.run_id = v_run and t.namespace = p->>'namespace' for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_now := layover.now();
  if layover.is_over(s.status) then
    return json_build_object('outcome', 'over', 'status', s.status);
  elsif s.token = v_token then
    return (select layover.describe_claimed(t, c->'have', (p->>'budgetBytes')::bigint) from layover.run_state t where t.run_id = v_run);
  elsif s.turn <> (c->>'turn')::integer then
    return json_build_object('outcome', 'stale', 'turn', s.turn);
  elsif s.leased_until > v_now then
    return json_build_object('outcome', 'busy', 'until', layover.to_ms(s.leased_until));
  elsif s.paused_at is not null then
    return json_build_object('outcome', 'paused');
  end if;
  select layover.is_carried_here(p, r.workflow, r.version) into v_carried from layover.run r where r.id = v_run;
  if not (v_carried and s.is_understood) or (s.refused_by is not null
    and layover.has_refused(s.refused_by, p->>'namespace', p->>'deployment'))
  then
    return json_strip_nulls(json_build_object('outcome', 'not_here', 'carriers', layover.list_carriers(p, v_run, s.refused_by)));
  end if;

  if layover.is_group_too_large(p, c, s.group_size) then
    return json_build_object('outcome', 'alone', 'groupSize', s.group_size);
  elsif layover.is_due_late(p, s.dispatches, s.due_at) then
    return json_build_object('outcome', 'due_late', 'dueAt', layover.to_ms(s.due_at));
  end if;
  v_wear := case when s.group_size = 1 then layover.describe_wear(p, s.claims, s.beginnings,
    format('turn %s', s.turn)) end;
  if v_wear is not null then
    v_until := layover.note_setback(v_run, '', 1, s.turn, v_wear);
    v_ready := least(v_until, s.stops_at);
    update layover.run_state t
       set status = 'parked', turn = t.turn + 1, token = null, leased_until = null, claims = 0,
           beginnings = case when v_until is null then 0 else least(t.beginnings, (p->>'maxBeginnings')::integer - 1) end,
           lost = case when v_until is null then 0 else t.lost + (t.token is not null)::integer end,
           spared = case when t.lost = 0 then 0 else t.spared end, lost_token = coalesce(t.token, t.lost_token),
           ready_at = case when v_until is null then t.ready_at else v_ready end,
           due_at = case when v_until is null then null when t.due_at <= v_ready then t.due_at
             else v_now end, -- a claim arms nothing, so the next tick looks
           blocked = case when v_until is null then v_wear end
     where t.run_id = v_run;
    return case when v_until is null then json_build_object('outcome', 'blocked')
      else json_build_object('outcome', 'not_ready', 'readyAt', null) end; -- its turn is another one now
  end if;

  if s.is_closing or s.stops_at <= v_now then
    v_is_late := s.is_closing or s.cancelled_position is not null;
    perform from layover.pending b where b.run_id = v_run order by b.path, b.occurrence for update;
    select max(b.leased_until) filter (where b.leased_until > v_now and (v_is_late or not b.is_shielded)),
        max(b.until) filter (where s.is_closing and b.child_bond = 'cancelled' and b.until > v_now)
      into v_busy, v_until
      from layover.pending b where b.run_id = v_run;
    if v_busy is not null then -- nobody else asks for this turn when the last branch's lease is over
      return json_build_object('outcome', 'not_ready', 'readyAt', layover.to_ms(v_busy));
    elsif v_until is not null then -- it waits for runs that it has cancelled: the last one that ends makes it ready (tell_parent)
      update layover.run_state t set ready_at = v_until where t.run_id = v_run;
      return json_build_object('outcome', 'not_ready', 'readyAt', layover.to_ms(v_until));
    elsif s.is_closing then -- it gives up those that have not ended in a day
      insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
        select v_run, s.epoch, b.path, b.occurrence, 1, b.until - interval '1 day', v_now,
            '0{"name": "Error", "code": "given_up", "message": "the run that it had invoked did not end within a day of its cancel"}'
          from layover.pending b where b.run_id = v_run and b.child_bond = 'cancelled' and b.child_status is null
        on conflict do nothing;
    end if;
  end if;
  if s.stops_at <= v_now then
    perform layover.keep_timeout(v_run);
    insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value, attempts)
      select v_run, s.epoch, s.last_position + 1, 'closing', '', 1, true, greatest(v_now, s.last_record_at),
          case when s.is_cancel then t.cancel_reason else 'timeout' end, 1 + (t.is_interrupted or t.token is not null)::integer
        from layover.run_state t where t.run_id = v_run;
    perform layover.release_all(v_run, with_cleanups => v_is_late);
    perform layover.drop_rows(v_run);
    update layover.run_state t
       set last_position = t.last_position + 1, cancelled_position = coalesce(t.cancelled_position, t.last_position + 1),
           cancel_requested_at = coalesce(t.cancel_requested_at, v_now),
           cancel_reason = case when s.is_cancel then t.cancel_reason else 'timeout' end,
           ends_as = case when s.is_cancel then t.ends_as else layover.end_at_timeout(v_run) end,
           last_record_at = greatest(v_now, t.last_record_at),
           timeout_at = case when not v_is_late then v_now + interval '1 hour' end
     where t.run_id = v_run;
  elsif s.status = 'parked' and s.blocked is null and (s.ready_at is null or s.ready_at > v_now) then
    return json_build_object('outcome', 'not_ready', 'readyAt', layover.to_ms(s.ready_at));
  end if;

  update layover.run_state t
     set status = 'running', token = v_token,
         leased_until = layover.lease_end(p, v_now),
         lost = t.lost + (t.token is not null)::integer, spared = case when t.lost = 0 then 0 else t.spared end,
         lost_token = coalesce(t.token, t.lost_token), is_interrupted = t.is_interrupted or t.token is not null,
         claims = t.claims + coalesce(s.group_size = 1, false)::integer, dispatches = 0, blocked = null,
         due_at = coalesce(t.due_at, v_now) -- a claim arms nothing: a blocked run without a due instant is found by the next tick
   where t.run_id = v_run
   returning layover.describe_claimed(t, c->'have', (p->>'budgetBytes')::bigint) into v_answer;
  return v_answer;
end $$;

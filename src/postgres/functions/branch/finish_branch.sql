-- A branch: leased -> recorded, or ready again later when an attempt failed. Its run becomes ready when no other branch of the same
-- map is at work. The next branch in the map's queue gets the slot in the same statement.
--
-- Once the run's timeout has passed or its cancel was asked for, the last branch at work has the run claimed, and that claim writes it into
-- the history. It does not wait for branches that clean up, until their hour is over.
create or replace function layover.finish_branch(namespace text, f jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := (f->>'runId')::uuid;
  v_token   constant uuid := (f->>'token')::uuid;
  v_path    constant text := f->>'path';
  v_occurrence constant integer := (f->>'occurrence')::integer;
  v_is_recorded constant boolean := f ? 'record';
  v_is_soon constant boolean := coalesce((f->'attempt'->>'retryInMs')::bigint <= 10000, false);
  v_now     timestamptz;
  v_counted    integer;
  v_continues boolean := false;
  v_is_last boolean;
  v_is_for_others boolean;
  v_next    json;
  v_answer  json;
  s         record;
  branch    record;
begin
  select t.epoch, t.turn, t.status, t.last_position, t.last_record_at, t.ready_at, t.paused_at,
      layover.stops_at(t) as stops_at, t.is_closing, t.is_closing or t.cancelled_position is not null as is_late,
      layover.may_be_due(t) as may_be_due
    into s from layover.run_state t
   where t.run_id = v_run and t.namespace = finish_branch.namespace for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  select b.token, b.finished_token, b.finished_answer, b.map, b.is_counted, b.is_released, b.position
    into branch from layover.pending b
   where b.run_id = v_run and b.path = v_path and b.occurrence = v_occurrence for update;
  if not found then
    return json_build_object('outcome', 'superseded');
  elsif branch.finished_token = v_token then
    return branch.finished_answer::json;
  elsif branch.token is distinct from v_token then
    perform layover.spare_loss(v_run, v_path, v_occurrence, v_token);
    return json_build_object('outcome', 'superseded');
  end if;
  v_now := layover.now();
  if f ? 'setback' then
    update layover.pending b set beginnings = 0, lost = 0
     where b.run_id = v_run and b.path = v_path and b.occurrence = v_occurrence;
    return json_build_object('outcome', 'finished', 'turn', (f->>'turn')::integer + 1, 'isBlocked',
      layover.set_back_branch(v_run, v_path, v_occurrence, f->>'setback', f->'armed') is null);
  elsif f ? 'blocked' then
    v_is_for_others := not layover.refuse_run(v_run, f->>'deployment', f->>'blocked');
    if v_is_for_others and s.paused_at is null then
      update layover.run_state t set due_at = least(t.due_at, layover.pick_due(f->'armed', v_now)) where t.run_id = v_run;
    end if;
    update layover.pending b set token = null, leased_until = null, claims = 0, beginnings = 0, lost = 0
     where b.run_id = v_run and b.path = v_path and b.occurrence = v_occurrence;
    return json_build_object('outcome', 'finished', 'turn', f->'turn', 'isReady', v_is_for_others and s.paused_at is null);
  end if;

  if f ? 'attempt' then
    insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error, request_id)
      values (v_run, s.epoch, v_path, v_occurrence, (f->'attempt'->>'number')::integer,
        layover.from_ms((f->'attempt'->>'beganAt')::bigint), layover.from_ms((f->'attempt'->>'endedAt')::bigint),
        f->'attempt'->>'error', f->'attempt'->>'requestId')
      on conflict do nothing;
  end if;
  if v_is_recorded then
    insert into layover.record (run_id, epoch, position, kind, path, occurrence, attempts, is_failure, value,
        recorded_at, began_at)
      values (v_run, s.epoch, s.last_position + 1, 'step', v_path, v_occurrence,
        (f->'record'->>'attempts')::integer, (f->'record'->>'isFailure')::boolean, f->'record'->>'value',
        greatest(layover.from_ms((f->'record'->>'at')::bigint), s.last_record_at),
        layover.from_ms((f->'record'->>'beganAt')::bigint));
  end if;

  if branch.map is null then
    v_continues := v_is_recorded;
  else
    update layover.map m
       set counted = m.counted - (branch.is_counted and not v_is_soon)::integer,
           slots = m.slots + v_is_recorded::integer
     where m.run_id = v_run and m.path = branch.map
     returning m.counted, m.fails_fast and v_is_recorded and (f->'record'->>'isFailure')::boolean
       into v_counted, v_continues;
    if v_is_recorded then
      v_next := layover.ready_queued(v_run, branch.map, 'epoch');
    end if;
    v_continues := v_continues or (v_counted = 0 and (v_is_recorded or branch.is_counted));
  end if;
  v_continues := coalesce(v_continues, false) and not branch.is_released;

  update layover.run_state t
     set last_position = t.last_position + v_is_recorded::integer,
         last_record_at = greatest(layover.from_ms((f->'record'->>'at')::bigint), t.last_record_at),
         custom_status = coalesce(f->'says'->-1->>'value', t.custom_status),
         history_bytes = t.history_bytes + coalesce((f->>'bytes')::integer, 0),
         ready_at = case when v_continues then 'epoch' else t.ready_at end,
         due_at = case when layover.may_be_due(t) then least(t.due_at, layover.pick_due(f->'armed', v_now)) end
   where t.run_id = v_run;

  v_is_last := (s.is_closing or s.stops_at <= v_now) and not exists (
    select from layover.pending b
     where b.run_id = v_run and b.leased_until > v_now and b.token <> v_token and (s.is_late or not b.is_shielded));
  v_answer := json_build_object('outcome', 'finished',
    'continues', case when s.status = 'parked' and s.may_be_due
      and (v_is_last or (v_continues and (s.ready_at is null or s.ready_at > v_now))) then s.turn end,
    'turn', (f->>'turn')::integer + 1, 'branches', v_next);
  update layover.pending b
     set token = null, leased_until = null, claims = 0, beginnings = 0, lost = 0, turn = b.turn + 1,
         position = case when v_is_recorded then s.last_position + 1 end,
         attempts = b.attempts + (not v_is_recorded)::integer,
         is_counted = b.is_counted and v_is_soon,
         ready_at = layover.ready_after((f->'attempt'->>'retryInMs')::bigint, v_now), -- null: the branch is recorded
         finished_token = v_token, finished_answer = v_answer::text
   where b.run_id = v_run and b.path = v_path and b.occurrence = v_occurrence;
  return v_answer;
end $$;

-- parked -> parked, as a run of another version of its workflow. Its caller has replayed the history with the code of that version, and
-- names the run as it was looked at: {"runId", "from", "to", "epoch", "turn", "position", "lastMail", "signature"}. A run that has gone
-- on or was sent a signal since then answers `moved_on`, one that somebody works at answers `at_work`, and nothing happens to it.
--
-- The next turn gets a new number. So a claim that has read the old version while this call was under way is stale, and all turns that were
-- dispatched for the old code are. A process that holds the run in memory with the old code does not go on with that
-- (is_of_version). A blocked run is ready for the new code, and so is one that was to be tried again later. Whatever was due is looked at
-- within a minute, and this call has armed that. What was dispatched in vain does not count any more, since its hosts may be gone. A run
-- that only waits for a signal stays as it is.
--
-- It locks the run and then the pending rows, and then looks: a claim of a branch is over by then, and each later one sees the new version.
--
-- From psql: first layover.read_mail, then select layover.upgrade_run('{"runId": "…", "from": 1, "to": 2, "epoch": 0, "turn": 3, …}').
create or replace function layover.upgrade_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_to      constant integer := (p->>'to')::integer;
  v_now     timestamptz;
  v_verdict json;
  v_ready   json;
  s         record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  if not p ?& '{from,to,epoch,turn,position,lastMail}' then
    raise exception 'upgrade_run needs the two versions, and the run as it was looked at' using errcode = 'LO003',
      hint = 'layover.read_mail answers epoch, turn, position and lastMail.';
  end if;
  perform from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null then
    perform from layover.pending b where b.run_id = v_run order by b.path, b.occurrence for update;
    v_now := layover.now();
    select t.namespace, r.workflow, t.turn, t.blocked, t.ready_at, greatest(t.leased_until, (
          select max(b.leased_until) from layover.pending b where b.run_id = v_run and b.token is not null)) as busy_until,
        t.ended_at is not null or t.cancel_requested_at is not null or t.cancelled_position is not null or t.is_closing
          or t.ending_position is not null as is_ending,
        t.blocked is not null or exists (select from layover.setback w
          where w.run_id = v_run and w.path = '' and w.turn = t.turn) as is_stuck,
        (r.version, t.epoch, t.turn, t.last_position, layover.last_mail(v_run)) is distinct from ((p->>'from')::integer,
          (p->>'epoch')::integer, (p->>'turn')::integer, (p->>'position')::integer, (p->>'lastMail')::bigint) as has_moved
      into s
      from layover.run_state t join layover.run r on r.id = t.run_id where t.run_id = v_run;
    if s.is_ending then
      return json_build_object('outcome', 'not_applicable', 'runId', v_run, 'status',
        (select layover.run_status(t) from layover.run_state t where t.run_id = v_run));
    elsif s.has_moved then
      return json_build_object('outcome', 'moved_on', 'runId', v_run);
    elsif s.busy_until is not null then
      return json_build_object('outcome', 'at_work', 'runId', v_run, 'until', layover.to_ms(s.busy_until));
    elsif exists (select from layover.live_deployments(s.namespace)) and not exists (
      select from layover.live_deployments(s.namespace) as d where d.versions->s.workflow @> to_jsonb(v_to))
    then -- nobody would carry it out
      return json_build_object('outcome', 'not_carried', 'runId', v_run);
    end if;
    update layover.run r set version = v_to, signature = p->>'signature' where r.id = v_run;
    update layover.run_state t
       set turn = t.turn + 1, dispatches = 0, claims = 0, beginnings = 0, lost = 0, spared = 0, lost_token = null,
           blocked = null, refused_by = null, ready_at = case when s.is_stuck then 'epoch' else t.ready_at end,
           due_at = case when t.paused_at is null and (t.blocked is not null or t.due_at is not null) then layover.pick_due(p->'armed',
             v_now + case when p ? 'armed' then interval '1 minute' else interval '0' end) end
     where t.run_id = v_run;
    update layover.pending b set dispatches = 0 where b.run_id = v_run and b.dispatches <> 0;
    if s.turn = 1 then -- its first claim takes what is kept in turn 1 only
      perform layover.take_kept(v_run);
    end if;
    v_verdict := layover.keep_operation(v_run, 'upgrade', p, json_build_object('outcome', 'upgraded', 'runId', v_run, 'version', v_to));
    v_ready := (
      select json_build_object('turn', case when t.ready_at <= v_now then t.turn end, 'branches', layover.ready_branches(v_run, v_now))
        from layover.run_state t where t.run_id = v_run and t.paused_at is null);
  end if;
  perform layover.check_armed(p);
  return case when v_ready is null then v_verdict else (v_verdict::jsonb || v_ready::jsonb)::json end;
end $$;

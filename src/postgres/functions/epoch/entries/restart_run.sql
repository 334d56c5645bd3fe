-- over, blocked or paused -> parked and ready, in its next epoch: the run goes on from a step, or begins anew. What came after is dropped; the
-- old history stays to be looked at. Steps that are carried out again have new idempotency keys. A run that closes or is being undone is not
-- restarted, though it is blocked or paused: its undos would be forgotten.
--
-- {"runId", "from": {"path", "occurrence"}, "encodedInput", "epoch", "dryRun"}. Without `from` it begins anew, and may have another input.
-- `epoch`: the one that its caller has seen.
--
-- From psql: select layover.restart_run('{"runId": "…", "from": {"path": "charge", "occurrence": 1}, "by": "ada"}').
create or replace function layover.restart_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_now     timestamptz;
  v_kept    integer;
  v_until   timestamptz;
  v_answer  jsonb;
  v_begun   json;
  v_verdict json;
  s         record;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  perform layover.lock_steady_families(array[v_run]);
  select t.epoch, t.ended_at, t.paused_at, t.blocked, t.leased_until, case when t.ending_position is not null or t.is_closing then 'compensating'
        when t.cancelled_position is not null or t.cancel_requested_at is not null then 'cancelling' end as ending into s
    from layover.run_state t where t.run_id = v_run;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is not null then
    return v_verdict;
  end if;
  v_now := layover.now();
  v_until := greatest(s.leased_until, (select max(b.leased_until) from layover.pending b where b.run_id = v_run));
  v_kept := layover.find_cut(v_run, s.epoch, p->'from');
  v_answer := case
    when (p->>'epoch')::integer <> s.epoch then jsonb_build_object('outcome', 'epoch_changed', 'epoch', s.epoch)
    when s.ended_at is null and s.paused_at is null and s.blocked is null then jsonb_build_object('outcome', 'not_applicable',
      'status', (select layover.run_status(t) from layover.run_state t where t.run_id = v_run))
    when s.ended_at is null and s.ending is not null then jsonb_build_object('outcome', 'not_applicable', 'status', s.ending)
    when v_until > v_now then jsonb_build_object('outcome', 'at_work', 'until', layover.to_ms(v_until))
    else layover.refuse_cut(v_run, s.epoch, v_kept) end;
  if v_answer is null and (p->>'dryRun')::boolean then
    return jsonb_build_object('outcome', 'would_restart', 'runId', v_run) || layover.describe_cut(v_run, s.epoch, v_kept);
  elsif v_answer is null then
    v_answer := jsonb_build_object('outcome', 'restarted', 'epoch', s.epoch + 1) || (layover.describe_cut(v_run, s.epoch, v_kept) - 'records');
  elsif (p->>'dryRun')::boolean then
    return v_answer || jsonb_build_object('runId', v_run);
  end if;
  v_verdict := layover.keep_operation(v_run, 'restart', p, (v_answer || jsonb_build_object('runId', v_run))::json);
  if v_answer->>'outcome' = 'restarted' then
    v_begun := layover.begin_epoch(v_run, array(select generate_series(1, v_kept)), jsonb_build_object('why', 'restarted')
      || case when p ? 'encodedInput' then jsonb_build_object('input', p->'encodedInput', 'isInputParsed', true) else '{}' end, p->'armed');
  end if;
  perform layover.check_armed(p);
  return case when v_begun is null then v_verdict else (v_verdict::jsonb || v_begun::jsonb)::json end;
end $$;

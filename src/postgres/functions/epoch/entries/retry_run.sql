-- failed -> parked and ready, in its next epoch: the run goes on, its failures forgotten, and every success kept. What the run's last finish told
-- of its failure (`failure`) says which records those are, and whether something that succeeded afterwards depends on them. A failed undo is
-- tried again; nothing else of a run that was undone can be.
--
-- {"runId", "epoch", "results": [{"path", "occurrence", "value"}], "signal": {"signalId", "name", "encodedPayload"}}. A result stands in for
-- that of a step that failed. The signal is sent to the run in the same act, so that it finds it when it goes on.
--
-- From psql: select layover.retry_run('{"runId": "…", "by": "ada"}').
create or replace function layover.retry_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run     constant uuid := layover.find_run(p);
  v_kept    integer[];
  v_results jsonb;
  v_signal  jsonb;
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
  perform layover.lock_families(array[v_run], with_children => false);
  select t.epoch, t.status, t.failure, t.ending_position, t.failed_undos, t.last_position into s
    from layover.run_state t where t.run_id = v_run;
  if not found then
    return json_build_object('outcome', 'unknown');
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is not null then
    return v_verdict;
  end if;
  v_results := layover.results_at(v_run, s.epoch, p->'results');
  v_answer := case
    when (p->>'epoch')::integer <> s.epoch then jsonb_build_object('outcome', 'epoch_changed', 'epoch', s.epoch)
    when s.status <> 'failed' then jsonb_build_object('outcome', 'not_applicable',
      'status', (select layover.run_status(t) from layover.run_state t where t.run_id = v_run))
    when s.ending_position is not null then case when coalesce(s.failed_undos, 0) = 0 then '{"outcome": "compensated"}'::jsonb end
    when s.failure is null and exists (select from layover.record h
        where h.run_id = v_run and h.epoch = s.epoch and h.kind in ('cancellation', 'closing'))
      then '{"outcome": "closing"}'
    when jsonb_array_length(s.failure->'repeats') > 0 then jsonb_build_object('outcome', 'would_repeat', 'places', s.failure->'repeats')
    else layover.find_lost_results(v_run, s.epoch, s.failure, v_results) end;
  if v_answer is null then
    v_kept := case when s.ending_position is null then layover.kept_of_failed(v_run, s.epoch, s.failure, v_results)
      else array(select h.position from layover.record h where h.run_id = v_run and h.epoch = s.epoch
        and not (h.position > s.ending_position and h.is_failure) order by h.position) end;
    v_answer := case when p ? 'signal' and layover.is_closed_by(v_run, s.epoch, v_kept, p->'signal'->>'name')
        then jsonb_build_object('outcome', 'signal_closed', 'name', p->'signal'->>'name')
      when s.ending_position is null then layover.find_failed_children(v_run, s.epoch, v_kept) end;
  end if;
  if v_answer is null then
    v_answer := jsonb_build_object('outcome', 'retried', 'epoch', s.epoch + 1, 'kept', cardinality(v_kept),
      'dropped', s.last_position - cardinality(v_kept));
  end if;
  v_verdict := layover.keep_operation(v_run, 'retry', p, (v_answer || jsonb_build_object('runId', v_run))::json);
  if v_answer->>'outcome' = 'retried' then
    v_begun := layover.begin_epoch(v_run, v_kept, jsonb_build_object('why', 'retried', 'results', v_results, 'by', p->'by'), p->'armed');
    if s.ending_position is not null then
      perform layover.put_done_undos_first(v_run, s.epoch + 1);
    end if;
    if p ? 'signal' then
      v_signal := jsonb_build_object('signalId', layover.new_id()) || (p->'signal');
      update layover.epoch e set before = e.before || jsonb_build_object('signalId', v_signal->'signalId')
       where e.run_id = v_run and e.epoch = s.epoch + 1; -- take_back_retry deletes it
      perform layover.send_signal(p - '{id,results}'::text[] || v_signal || jsonb_build_object('runId', v_run));
    end if;
  end if;
  perform layover.check_armed(p);
  return case when v_begun is null then v_verdict else (v_verdict::jsonb || v_begun::jsonb)::json end;
end $$;

-- Starts a run unless there is one of its id, and sends the signal to whichever run that is, in one call. It takes what start_run and
-- send_signal take. The run that is there may have another input. The same call (its runId and signalId) again changes nothing.
--
-- From psql: select layover.signal_with_start('{"workflow": "cart", "version": 1, "id": "c1", "input": {"customer": "ada"},
--   "name": "item", "payload": {"sku": "lamp"}}').
create or replace function layover.signal_with_start(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_start json;
  v_sent  json;
begin
  loop
    v_start := layover.start_run(p);
    if v_start->>'runId' is null then
      return v_start;
    elsif v_start->>'isDeleted' is not null then
      return json_build_object('outcome', 'sent', 'runId', v_start->>'runId', 'isNew', true, 'version', v_start->'version',
        'now', v_start->'now'); -- this call has sent it before
    end if;
    v_sent := layover.send_signal(p || jsonb_build_object('runId', v_start->>'runId'));
    exit when v_sent->>'outcome' <> 'unknown'; -- otherwise the run was pruned meanwhile: start anew
  end loop;
  return json_build_object('outcome', v_sent->>'outcome', 'runId', v_sent->>'runId', 'status', v_sent->>'status',
    'isNew', v_start->>'outcome' = 'started', 'version', v_start->'version', 'readyAt', v_start->'readyAt',
    'turn', coalesce((v_sent->>'turn')::integer, case when v_start->>'outcome' = 'started' then 1 end), 'now', v_start->'now');
end $$;

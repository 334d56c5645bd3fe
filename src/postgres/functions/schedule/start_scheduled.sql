-- Starts the run of a schedule for an instant, or answers why it starts none: {"cause", "runId", "reason"}. A run of it is not over
-- (`overlap`), the id of the new one is taken (`conflict`), or the start was refused (`refused`).
--
-- An outage is no refusal: it raises, and nothing is fired. The id of a run is the schedule's name and the instant, so no instant is fired twice.
create or replace function layover.start_scheduled(p jsonb, v layover.schedule, at timestamptz, id text, run uuid) returns jsonb
language plpgsql volatile as $$
declare
  v_facts  constant jsonb := jsonb_build_object('schedule', v.name, 'at', layover.to_ms(at), 'firedAt', layover.to_ms(layover.now()));
  v_open   uuid;
  v_answer json;
begin
  if coalesce(v.definition->>'overlap', 'skip') = 'skip' and not coalesce((p->>'ignoresOverlap')::boolean, false) then
    v_open := layover.find_open_run(v);
    if v_open is not null then
      return jsonb_build_object('cause', 'overlap', 'runId', v_open);
    end if;
  end if;
  begin
    v_answer := layover.start_run(jsonb_build_object('namespace', v.namespace, 'workflow', v.workflow, 'version', v.version, 'id', id,
        'runId', run, 'tags', coalesce(v.definition->'tags', '{}'))
      || jsonb_strip_nulls(jsonb_build_object('timeoutMs', v.definition->'timeoutMs', 'signature', v.definition->'signature',
        'encodedInput', v.definition->'encodedInput', 'keyId', p->'keyId', 'armed', p->'armed')));
    if v_answer->>'outcome' <> 'started' then
      return jsonb_build_object('cause', 'conflict', 'runId', v_answer->>'runId', 'reason', format('the id "%s" is taken by another run', id));
    end if;
    update layover.run r
       set scheduled = v_facts || jsonb_build_object('computesInput', coalesce((v.definition->>'computesInput')::boolean, false))
     where r.id = run;
    perform layover.note_scheduled_run(run);
  exception when others then
    if sqlstate in ('LO005', 'LO010') or sqlstate !~ '^(LO|22|23|54)' then
      raise;
    end if;
    return jsonb_build_object('cause', 'refused', 'reason', left(sqlerrm, 1000));
  end;
  return jsonb_build_object('run', jsonb_build_object('runId', run, 'turn', v_answer->'turn', 'schedule', v.name, 'at', layover.to_ms(at)));
end $$;

-- Carries out the deeds of a delivery: starts, signals, and signals that start their run. If one cannot be carried out, it raises LO015,
-- and none is. A signal to a run that is not there is kept for the run. If the very run that a deed started was deleted since, the deed's
-- signal went with it.
--
-- Locks: starts first, in order of workflow and id, then runs in order of their ids. So two deliveries with the same deeds in another
-- order do not wait for each other in a circle.
create or replace function layover.carry_out_deeds(p jsonb, deeds jsonb) returns json
language plpgsql volatile as $$
declare
  v_common constant jsonb := p - '{deeds,delivery,webhook,event,headers,bodyMac,olderBodyMacs,bodyWindowMs,replay,keyId}'::text[];
  v_deeds  jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(deeds)]);
  v_turns  jsonb := '[]';
  v_answer jsonb;
  v_item   record;
begin
  for v_item in
    select d.deed, d.place from jsonb_array_elements(deeds) with ordinality as d (deed, place)
     where d.deed ? 'encodedInput' order by d.deed->>'workflow', d.deed->>'id', d.place
  loop
    v_answer := layover.start_run(v_common || v_item.deed);
    if v_answer->>'outcome' = 'conflict' and not v_item.deed ? 'encodedPayload' then
      raise exception 'the id "%" of workflow % is taken by a run with another input', v_item.deed->>'id', v_item.deed->>'workflow'
        using errcode = 'LO015';
    end if;
    v_deeds[v_item.place] := jsonb_build_object('runId', v_answer->'runId', 'outcome',
      case when v_answer ? 'isDeleted' then 'deleted' when v_answer->>'outcome' = 'started' then 'started' else 'exists' end);
    if v_answer->>'outcome' = 'started' and v_answer->'turn' is distinct from 'null' then
      v_turns := v_turns || jsonb_build_object('runId', v_answer->'runId', 'turn', coalesce(v_answer->'turn', '1'),
        'readyAt', v_answer->'readyAt');
    end if;
  end loop;
  for v_item in
    select s.deed, s.place, s.run_id
      from (
        select d.deed, d.place, coalesce((v_deeds[d.place]->>'runId')::uuid, layover.find_run(v_common || d.deed)) as run_id
          from jsonb_array_elements(deeds) with ordinality as d (deed, place)
         where d.deed ? 'encodedPayload' and v_deeds[d.place]->>'outcome' is distinct from 'deleted'
      ) as s
     order by s.run_id nulls last, s.place
  loop
    v_answer := case when v_item.run_id is null then '{"outcome": "unknown"}'
      else layover.send_signal(v_common || v_item.deed || jsonb_build_object('runId', v_item.run_id))::jsonb end;
    if v_answer->>'outcome' in ('over', 'closed') then
      raise exception '%', layover.describe_untaken(v_item.run_id, v_item.deed->>'workflow', v_item.deed->>'name', v_answer->>'outcome')
        using errcode = 'LO015';
    elsif v_answer->>'outcome' = 'unknown' and v_item.deed ? 'encodedInput' then
      raise exception 'the run "%" was deleted meanwhile', v_item.deed->>'id' using errcode = '40001'; -- the call is sent again
    elsif v_answer->>'outcome' = 'unknown' then
      perform layover.keep_signal(p, v_item.deed);
      v_answer := '{"outcome": "kept"}';
    elsif v_answer->>'turn' is not null then
      v_turns := v_turns || jsonb_build_object('runId', v_item.run_id, 'turn', v_answer->'turn');
    end if;
    v_deeds[v_item.place] := coalesce(v_deeds[v_item.place], jsonb_build_object('runId', v_item.run_id))
      || jsonb_build_object('signal', v_answer->'outcome');
  end loop;
  return json_build_object('deeds', array_to_json(v_deeds), 'turns', v_turns);
end $$;

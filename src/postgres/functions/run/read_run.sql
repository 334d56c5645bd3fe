-- Answers the part of a run that never changes, for a process that has not seen the run yet.
create or replace function layover.read_run(run uuid) returns json
language plpgsql volatile as $$
begin
  return (select json_build_object('workflow', r.workflow, 'version', r.version, 'userId', r.user_id, 'input', r.input,
      'isInputParsed', r.is_input_parsed, 'createdAt', layover.to_ms(r.created_at), 'startsAt', layover.to_ms(r.starts_at), 'traceparent', r.traceparent,
      'parentRunId', r.parent_run_id, 'signature', r.signature, 'scheduled', r.scheduled,
      'tags', (select json_object_agg(l.name, l.value) from layover.tag l where l.run_id = r.id))
    from layover.run r where r.id = $1);
end $$;

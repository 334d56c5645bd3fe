-- Answers what read_run answers, for a run in a later epoch: with the input of that epoch, and of what segments its history is made.
create or replace function layover.read_epoch(run uuid, epoch integer) returns json
language plpgsql volatile as $$
begin
  return (
    select layover.read_run(run)::jsonb || jsonb_build_object('createdAt', e.segments->0->'at', 'isInputParsed', e.is_input_parsed,
        'segments', e.segments) || case when e.input is null then '{}' else jsonb_build_object('input', e.input) end
      from layover.epoch e where e.run_id = run and e.epoch = read_epoch.epoch);
end $$;

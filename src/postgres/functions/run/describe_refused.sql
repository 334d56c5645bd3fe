-- Answers the error of a run that could not be started by its parent, as it is stored. No reason: its id is taken.
create or replace function layover.describe_refused(refusal text, workflow text, user_id text, run uuid) returns text
language plpgsql stable as $$
begin
  return '0' || jsonb_build_object('name', 'LayoverError', 'code', coalesce(refusal, 'conflict'), 'message', case refusal
    when 'too_many_children' then 'the run has started 10000 runs, and may start no more'
    when 'chain_too_long' then 'more than 20 runs would wait for each other, or more than 1000 would have led to this one'
    else format('the id %s of workflow %s is taken by another run', to_jsonb(coalesce(user_id, run::text)), to_jsonb(workflow)) end)::text;
end $$;

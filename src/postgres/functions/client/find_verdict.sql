-- Answers what the same call of a person was told before. Null: the call has come for the first time.
create or replace function layover.find_verdict(run uuid, p jsonb) returns json
language plpgsql volatile as $$
begin
  return (select x.verdict::json from layover.operation x where x.run_id = run and x.call_id = (p->>'callId')::uuid);
end $$;

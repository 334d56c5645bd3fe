-- Keeps what a person did to a run, and answers the verdict. A run that has 1,000 operations takes no further pause or export, no
-- second cancel, and nothing that does not apply: otherwise one client could fill the disk. But it can always be
-- resumed, cancelled and terminated.
create or replace function layover.keep_operation(run uuid, verb text, p jsonb, verdict json) returns json
language plpgsql volatile as $$
begin
  if (verb in ('pause', 'export') or verdict->>'outcome' = 'not_applicable' or verb = 'cancel' and exists (
      select from layover.operation x where x.run_id = run and x.verb = 'cancel'))
    and (select count(*) from layover.operation x where x.run_id = run) >= 1000
  then
    raise exception 'the run % has 1000 operations already', run using errcode = 'LO012',
      hint = 'Terminate the run, or delete it when it is over.';
  end if;
  insert into layover.operation (run_id, call_id, verb, asked_by, reason, asked_at, verdict)
    values (run, coalesce((p->>'callId')::uuid, layover.new_id()), verb, p->>'by', p->>'reason', layover.now(), verdict::text);
  return verdict;
end $$;

-- Finds a run by our id, or by its workflow and the user's own id. If our id comes with a workflow, the run must be of that workflow.
create or replace function layover.find_run(p jsonb) returns uuid
language plpgsql volatile as $$
begin
  return (
    select r.id from layover.run r
     where r.namespace = coalesce(p->>'namespace', 'default')
       and (not p ? 'workflow' or r.workflow = p->>'workflow')
       and case when p ? 'runId' then r.id = (p->>'runId')::uuid
           else r.id = (select o.id from layover.run o where o.namespace = coalesce(p->>'namespace', 'default')
             and o.workflow = p->>'workflow' and o.user_id = p->>'id') end
  );
end $$;

-- A new deployment's first tick has done its work: from now on list_due knows the deployment. With `triedThrough` it has had
-- no room for all blocked runs, and its next tick goes on behind that one.
create or replace function layover.note_deployment(p jsonb) returns json
language plpgsql volatile as $$
begin
  update layover.environment e set deployment = p->>'deployment', tried_through = (p->>'triedThrough')::uuid
   where e.namespace = p->>'namespace' and layover.find_mismatch(p) is null;
  if layover.is_too_late(p) then
    perform layover.refuse_too_late();
  end if;
  return json_build_object('outcome', 'noted');
end $$;

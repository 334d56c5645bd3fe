-- A new deployment's first tick has done its work: from now on list_due knows the deployment.
create or replace function layover.note_deployment(p jsonb) returns json
language plpgsql volatile as $$
begin
  update layover.environment e set deployment = p->>'deployment' where e.namespace = p->>'namespace';
  return json_build_object('outcome', 'noted');
end $$;

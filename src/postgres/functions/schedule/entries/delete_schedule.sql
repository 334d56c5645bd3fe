-- scheduled -> gone, when somebody deletes a schedule. One that the code of a live deployment declares stays (`declared`): its next deploy
-- would bring it back. The runs that it has started go on.
create or replace function layover.delete_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v constant layover.schedule := layover.lock_schedule(p);
begin
  if v.name is null then
    return layover.answer_schedule(p, 'unknown');
  elsif exists (select from layover.live_deployments(v.namespace) as l where l.name = v.owner or v.declarations ? l.name) then
    return layover.answer_schedule(p, 'declared');
  end if;
  perform layover.remove_schedule(v);
  return layover.answer_schedule(p, 'deleted');
end $$;

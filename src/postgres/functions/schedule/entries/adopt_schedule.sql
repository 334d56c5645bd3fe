-- Gives a schedule to the deployment whose code declares something else under its name (`rival`), and takes over what that declares.
create or replace function layover.adopt_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v     constant layover.schedule := layover.lock_schedule(p);
  v_why text;
begin
  if v.name is null then
    return layover.answer_schedule(p, 'unknown');
  elsif v.owner = p->>'owner' then
    return layover.answer_schedule(p, 'adopted');
  elsif v.rival->>'owner' is distinct from p->>'owner' then
    return layover.answer_schedule(p, 'not_applicable');
  end if;
  v_why := layover.check_schedule(v.name, v.rival->'definition');
  if v_why is not null then
    return (layover.answer_schedule(p, 'invalid')::jsonb || jsonb_build_object('reason', v_why))::json;
  end if;
  perform layover.write_schedule(p, v, v.name, p->>'owner', v.rival->'definition');
  return layover.answer_schedule(p, 'adopted');
end $$;

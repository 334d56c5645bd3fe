-- Gives a schedule to another deployment whose code declares it (`declarations`), the same or something else, and takes over what that
-- declares. If it is the same, nothing changes but the owner.
create or replace function layover.adopt_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v       constant layover.schedule := layover.lock_schedule(p);
  v_given constant jsonb := v.declarations->(p->>'owner');
  v_why   text;
begin
  if v.name is null then
    return layover.answer_schedule(p, 'unknown');
  elsif v.owner = p->>'owner' then
    return layover.answer_schedule(p, 'adopted');
  elsif v_given is null then
    return layover.answer_schedule(p, 'not_applicable');
  end if;
  v_why := layover.check_schedule(v.name, v_given);
  if v_why is not null then
    return (layover.answer_schedule(p, 'invalid')::jsonb || jsonb_build_object('reason', v_why))::json;
  end if;
  perform layover.write_schedule(p, v, v.name, p->>'owner', v_given);
  return layover.answer_schedule(p, 'adopted');
end $$;

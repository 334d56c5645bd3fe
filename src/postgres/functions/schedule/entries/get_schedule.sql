-- Answers what people see of a schedule.
create or replace function layover.get_schedule(p jsonb) returns json
language plpgsql volatile as $$
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  return coalesce((
    select layover.describe_schedule(v)
      from layover.schedule v where v.namespace = coalesce(p->>'namespace', 'default') and v.name = p->>'name'),
    json_build_object('outcome', 'unknown'));
end $$;

-- nothing -> scheduled, when somebody makes a schedule at run time. The same again changes nothing (`exists`). Another definition is a
-- `conflict`, unless `replaces`, and unless code declares the schedule. An instant (`at`) that has passed is `invalid`: it would never fire.
--
-- From psql: select layover.create_schedule('{"name": "nightly", "definition": {"workflow": "report", "version": 1, "cron": "0 3 * * *",
-- "timezone": "Europe/Berlin", "encodedInput": "0null"}}'). SQL arms no alarm.
create or replace function layover.create_schedule(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_namespace constant text := coalesce(p->>'namespace', 'default');
  v_why       constant text := layover.check_schedule(p->>'name', p->'definition');
  v_outcome   text;
  v           layover.schedule;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  if v_why is not null then
    return json_build_object('outcome', 'invalid', 'reason', v_why);
  end if;
  loop
    select o.* into v from layover.schedule o where o.namespace = v_namespace and o.name = p->>'name' for update;
    v_outcome := case
      when not found then 'created'
      when v.owner is null and layover.is_same_schedule(v.definition, p->'definition') then 'exists'
      when v.owner is null and coalesce((p->>'replaces')::boolean, false) then 'changed'
      else 'conflict' end;
    if v_outcome in ('created', 'changed') and layover.from_ms((p->'definition'->>'at')::bigint) <= layover.now() then
      return json_build_object('outcome', 'invalid', 'reason', 'its instant has passed, so it would never fire');
    end if;
    exit when v_outcome in ('exists', 'conflict') or layover.write_schedule(p, v, p->>'name', null, p->'definition');
  end loop;
  if v_outcome = 'exists' then
    perform layover.keep_schedule(v, p->'definition');
  end if;
  select o.* into v from layover.schedule o where o.namespace = v_namespace and o.name = p->>'name';
  perform layover.check_armed(p);
  return json_build_object('outcome', v_outcome, 'schedule', layover.describe_schedule(v), 'now', layover.to_ms(layover.now()));
end $$;

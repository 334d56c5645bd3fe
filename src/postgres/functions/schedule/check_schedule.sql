-- Answers in plain words why a schedule cannot be as it is defined. Null: it can.
--
-- A definition is {"workflow", "version"}; one of "cron" (with "timezone"), "everyMs" (with "startAt") and "at"; and "jitterMs", "overlap",
-- "catchUp", "encodedInput" or "computesInput", "tags", "timeoutMs", "signature".
create or replace function layover.check_schedule(name text, definition jsonb) returns text
language plpgsql stable as $$
declare
  v_why text;
begin
  v_why := case
    when name is null or length(name) not between 1 and 100 then 'its name must have 1 to 100 characters'
    when definition->>'workflow' is null or definition->>'version' is null then 'it names no workflow and version'
    when num_nonnulls(definition->'cron', definition->'everyMs', definition->'at') <> 1
      then 'it needs exactly one of cron, every and at'
    when definition ? 'timezone' and not definition ? 'cron' then 'a timezone goes with cron only'
    when definition ? 'startAt' and not definition ? 'everyMs' then 'startAt goes with every only'
    when (definition->>'everyMs')::numeric not between 60000 and 315360000000 then 'every must be from 1 minute to 10 years'
    when (definition->>'jitterMs')::numeric not between 0 and 86400000 or (definition->>'jitterMs')::numeric % 60000 <> 0
      then 'jitter must be whole minutes, and a day at most'
    when definition->>'overlap' not in ('skip', 'allow') then 'overlap must be "skip" or "allow"'
    when definition->>'catchUp' not in ('latest', 'all', 'none') then 'catchUp must be "latest", "all" or "none"'
    when definition->>'catchUp' = 'all' and definition->>'overlap' is distinct from 'allow'
      then 'catchUp "all" needs overlap "allow": the runs of missed firings begin together'
    when definition ? 'cron' then layover.check_calendar(definition->>'cron', coalesce(definition->>'timezone', 'UTC'))
  end;
  if v_why is null then -- each number is read as it will be
    perform (definition->>'version')::integer, (definition->>'timeoutMs')::bigint, (definition->>'jitterMs')::bigint,
      layover.next_instant(name, definition, layover.now());
  end if;
  return v_why;
exception when invalid_text_representation or numeric_value_out_of_range or datetime_field_overflow then
  return 'one of its numbers is none, or too large';
end $$;

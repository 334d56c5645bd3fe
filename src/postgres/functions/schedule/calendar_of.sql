-- Answers the part of a schedule's definition that says when it fires.
create or replace function layover.calendar_of(definition jsonb) returns jsonb
language sql immutable as $$
  select jsonb_build_array(definition->'cron', definition->'timezone', definition->'everyMs', definition->'startAt', definition->'at',
    definition->'jitterMs')
$$;

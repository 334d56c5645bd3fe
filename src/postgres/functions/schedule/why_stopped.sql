-- Answers why a schedule with a cron pattern has no next instant, as every such schedule had one when it was made. Null: it has one, or it was
-- to fire once. A timezone may be gone from the database, after its host has got other files of timezones.
create or replace function layover.why_stopped(v layover.schedule) returns text
language sql stable as $$
  select case when v.next_at is null and v.definition ? 'cron' then coalesce(
    layover.check_calendar(v.definition->>'cron', coalesce(v.definition->>'timezone', 'UTC')),
    'its pattern or its timezone could not be read when it fired last, and can be read now: the next start of its deployment does so') end
$$;

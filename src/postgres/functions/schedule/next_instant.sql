-- Answers the first instant of a schedule's calendar after `after`. Null: none is left.
--
-- `every` counts from `startAt`. Without it, from an instant near the epoch that the name decides, so that neither a deploy nor an edit moves
-- it, and not all schedules fire at once.
create or replace function layover.next_instant(name text, definition jsonb, after timestamptz) returns timestamptz
language plpgsql stable as $$
declare
  v_every constant bigint := (definition->>'everyMs')::bigint;
  v_start bigint;
begin
  if definition ? 'cron' then
    return layover.next_firing(definition->>'cron', coalesce(definition->>'timezone', 'UTC'), after);
  elsif definition ? 'at' then
    return case when layover.from_ms((definition->>'at')::bigint) > after then layover.from_ms((definition->>'at')::bigint) end;
  end if;
  v_start := coalesce((definition->>'startAt')::bigint,
    ('x' || left(md5(name), 7))::bit(28)::integer % (v_every / 60000) * 60000);
  return layover.from_ms(v_start + greatest(0,
    floor((floor(extract(epoch from after) * 1000)::bigint - v_start)::numeric / v_every)::bigint + 1) * v_every);
end $$;

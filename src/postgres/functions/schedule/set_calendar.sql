-- Answers a schedule with its next instant after `after`, and when the scheduler looks at it: at one of the instants that the call has
-- armed. A schedule that is paused, or has no instant left, is not looked at.
create or replace function layover.set_calendar(v layover.schedule, after timestamptz, armed jsonb) returns layover.schedule
language plpgsql stable as $$
begin
  v.next_at := layover.next_instant(v.name, v.definition, after);
  v.fires_at := v.next_at + layover.jitter_of(v.name, v.definition, v.next_at);
  v.due_at := case when v.paused_at is null then layover.pick_due(armed, v.fires_at) end;
  return v;
end $$;

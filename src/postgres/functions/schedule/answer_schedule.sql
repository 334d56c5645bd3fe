-- Answers what a verb did to a schedule, and the schedule as it is now. Refuses the call if it is too late for what it has armed.
create or replace function layover.answer_schedule(p jsonb, outcome text) returns json
language plpgsql volatile as $$
begin
  perform layover.check_armed(p);
  return json_build_object('outcome', outcome, 'now', layover.to_ms(layover.now()), 'schedule', (
    select layover.describe_schedule(v)
      from layover.schedule v where v.namespace = coalesce(p->>'namespace', 'default') and v.name = p->>'name'));
end $$;

-- Answers in plain words what is wrong with a cron pattern or a timezone, and where. Null: nothing, and it fires within 10 years.
create or replace function layover.check_calendar(cron text, timezone text) returns text
language plpgsql stable as $$
declare
  v_problem text;
begin
  perform layover.read_cron(cron);
  v_problem := layover.check_timezone(timezone);
  return coalesce(v_problem, case when layover.next_firing(cron, timezone, layover.now()) is null
    then format('the cron pattern "%s" does not fire in the next 10 years', left(cron, 60)) end);
exception when invalid_parameter_value then
  get stacked diagnostics v_problem = message_text;
  return format('the cron pattern "%s" cannot be read: %s', left(cron, 60), v_problem);
end $$;

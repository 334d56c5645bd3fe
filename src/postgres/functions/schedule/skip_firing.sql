-- Answers a schedule with one skip more: why an instant was not fired. So many in a row are reported loudly (the engine does).
create or replace function layover.skip_firing(v layover.schedule, at timestamptz, why jsonb) returns layover.schedule
language plpgsql stable as $$
begin
  v.skipped := v.skipped + 1;
  v.skipped_in_row := v.skipped_in_row + 1;
  v.last_skip := jsonb_strip_nulls(why || jsonb_build_object('at', layover.to_ms(at)));
  return v;
end $$;

-- Answers a `ready_at` as people are shown it: 'epoch' is shown as now.
create or replace function layover.show_ready_at(ready_at timestamptz) returns bigint
language plpgsql volatile as $$
begin
  return layover.to_ms(case ready_at when 'epoch' then layover.now() else ready_at end);
end $$;

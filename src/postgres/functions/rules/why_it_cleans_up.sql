-- Answers for which reason a run closes as after a cancel whose finish says `cleansUp`: only the end of a handler that has thrown tells what
-- failed it.
create or replace function layover.why_it_cleans_up(f jsonb) returns text
language sql immutable as $$
  select case when f->'endsAs' ? 'failure' then layover.after_throw() else 'its history is full' end
$$;

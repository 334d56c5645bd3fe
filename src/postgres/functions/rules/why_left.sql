-- Answers for which reason a run is asked to end that its parent waits for no more.
create or replace function layover.why_left() returns text
language sql immutable as $$
  select 'its parent waits for it no more'
$$;

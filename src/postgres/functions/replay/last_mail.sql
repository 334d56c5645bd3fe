-- Answers the number of the last signal that a run has not taken. 0: there is none.
create or replace function layover.last_mail(run uuid) returns bigint
language sql stable as $$
  select coalesce(max(g.number), 0) from layover.signal g where g.run_id = run and g.position is null
$$;

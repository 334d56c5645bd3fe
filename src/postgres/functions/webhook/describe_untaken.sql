-- Says why a run takes no signal of a delivery.
create or replace function layover.describe_untaken(run uuid, workflow text, name text, outcome text) returns text
language sql immutable as $$
  select format('the run %s of workflow %s takes no signal "%s": %s', run, workflow, name,
    case when outcome = 'over' then 'it is over' else 'it has closed that signal' end)
$$;

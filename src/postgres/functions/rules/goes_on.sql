-- Whether the next turn of a run needs to read nothing: no pending row, no mail, nothing keeps the run from new turns, and nobody has said how
-- it ends.
create or replace function layover.goes_on(t layover.run_state, at timestamptz) returns boolean
language sql stable as $$ select not t.has_pending and not t.has_mail and t.ends_as is null and layover.may_run(t, at) $$;

-- Answers how a finish says that its run ends, as `run_state.ends_as` keeps it. Null: it does not say it, as finishes of earlier releases.
create or replace function layover.end_of(f jsonb) returns jsonb
language sql immutable as $$
  select coalesce(f->'endsAs', case when f->>'next' in ('failed', 'cancelled')
    then jsonb_strip_nulls(jsonb_build_object('next', f->'next', 'value', f->'value', 'failure', f->'failure')) end)
$$;

-- Whether what a process holds of a run in memory is of the run's version: upgrade_run may have moved the run since. A process of an
-- earlier release does not say its version. Then the run must never have moved.
create or replace function layover.is_of_version(run uuid, have jsonb) returns boolean
language plpgsql volatile as $$
begin
  return case when have ? 'version'
    then (select r.version = (have->>'version')::integer from layover.run r where r.id = run)
    else not exists (select from layover.operation x where x.run_id = run and x.verb = 'upgrade') end;
end $$;

-- Whether a run may continue as new: no cancel and no timeout has come first. The next claim tells its handler of these.
create or replace function layover.may_continue(run uuid, at timestamptz) returns boolean
language plpgsql stable as $$
begin
  return (select coalesce(layover.stops_at(t) > at, true) from layover.run_state t where t.run_id = run);
end $$;

-- Whether people see this status of a run; a null status fits each run. It is one expression, so that it is planned as a part of its
-- query.
create or replace function layover.has_status(s layover.run_state, wanted text) returns boolean
language sql volatile as $$
  select wanted is null or case when layover.is_over(wanted) then s.status = wanted
    else s.ended_at is null and layover.run_status(s) = wanted end
$$;

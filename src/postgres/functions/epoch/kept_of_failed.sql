-- Answers the positions of a failed run's history that a retry keeps: all before the record that failed the run (`at`), and of those after it
-- all but failures, and waits that threw when they timed out (`timeouts`). If no record failed the run, it keeps all of them.
create or replace function layover.kept_of_failed(run uuid, epoch integer, failure jsonb, results jsonb) returns integer[]
language plpgsql stable as $$
begin
  return array(
    select h.position from layover.record h
     where h.run_id = run and h.epoch = kept_of_failed.epoch and h.kind <> 'closing'
       and (coalesce(h.position < (failure->>'at')::integer, true) or coalesce(results ? h.position::text, false)
         or h.position > (failure->>'at')::integer and not h.is_failure and not failure->'timeouts' @> to_jsonb(h.position))
     order by h.position);
end $$;

-- Answers the failed steps that a retry may not carry out again, since they are known to be done, or may be, and run at most once. A person
-- must give their results. Null: there are none.
create or replace function layover.find_lost_results(run uuid, epoch integer, failure jsonb, results jsonb) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object('outcome', 'result_needed', 'places', jsonb_agg(jsonb_build_object('path', h.path, 'occurrence', h.occurrence)
        order by h.position))
      from layover.record h
     where h.run_id = run and h.epoch = find_lost_results.epoch
       and failure->'lost' @> to_jsonb(h.position) and not coalesce(results ? h.position::text, false)
    having count(*) > 0);
end $$;

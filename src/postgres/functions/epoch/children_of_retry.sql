-- Answers the runs that this one would wait for again after a retry. The run's last finish told which ones (`failure`). If it did not, all count
-- whose ends are not kept. `kept`: the positions that the retry keeps.
create or replace function layover.children_of_retry(run uuid, epoch integer, kept integer[]) returns setof layover.run
language plpgsql stable as $$
declare
  v_waits constant text[] := (
    select array(select jsonb_array_elements_text(t.failure->'children'))
      from layover.run_state t where t.run_id = run and t.failure ? 'children');
begin
  return query
    select r.* from layover.run r join layover.run_state t on t.run_id = r.id and t.has_parent
     where r.parent_run_id = run
       and case when v_waits is not null then right(r.id::text, 21) = any (v_waits) else not exists (
         select from layover.record h
          where h.run_id = run and h.epoch = children_of_retry.epoch and h.position = any (kept) and h.kind = 'child'
            and h.path = r.parent_path and h.occurrence = r.parent_occurrence) end;
end $$;

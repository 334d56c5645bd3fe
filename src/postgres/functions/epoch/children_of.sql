-- Answers the runs that this one has invoked in its history of now. Those that it had before a restart belong to a history that was dropped:
-- their places have other runs now. A retry keeps its runs.
create or replace function layover.children_of(run uuid) returns setof layover.run
language sql stable as $$
  select r.* from layover.run r join layover.run_state t on t.run_id = r.id and t.has_parent
   where r.parent_run_id = run and r.created_at >= coalesce(
     (select max(e.began_at) from layover.epoch e where e.run_id = run and e.why <> 'retried'), '-infinity')
$$;

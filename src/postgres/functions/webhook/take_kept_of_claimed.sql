-- Gives runs whose first turn is claimed what deliveries have kept for them. Most namespaces keep nothing, so claim_turns asks that first.
-- If there is something, it locks all runs of the claim in the order in which they are locked afterwards.
--
-- Whatever else moves a run on from its first turn, unclaimed, takes it itself (upgrade_run, begin_epoch).
--
-- A claim may come late, when the run waits in a later turn already. Then nothing is taken: the scheduler sends it, which wakes the run.
create or replace function layover.take_kept_of_claimed(p jsonb) returns void
language plpgsql volatile as $$
declare
  v_runs constant uuid[] := array(select (i.turn->>'runId')::uuid from jsonb_array_elements(p->'turns') as i (turn));
  v_takers uuid[];
begin
  v_takers := array(
    select r.id from layover.run r
     where r.id = any (v_runs) and r.namespace = p->>'namespace' and exists (select from layover.kept_signal u
       where u.namespace = r.namespace and u.workflow = r.workflow and u.user_id = r.user_id));
  if cardinality(v_takers) = 0 then
    return;
  end if;
  perform from layover.run_state t where t.run_id = any (v_runs) order by t.run_id for update;
  perform layover.take_kept(t.run_id) from layover.run_state t
   where t.run_id = any (v_takers) and t.turn = 1 and t.ended_at is null;
end $$;

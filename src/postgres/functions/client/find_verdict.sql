-- Answers what the same call of a person was told before. Null: the call has come for the first time.
--
-- The answer that said whom to dispatch may have been lost. So this one says who may be claimed now: the run, its branches, the run that
-- waits for it, and the newest thousand runs that it has started.
create or replace function layover.find_verdict(run uuid, p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  return (
    select (x.verdict::jsonb || jsonb_strip_nulls(jsonb_build_object(
        'turn', (select t.turn from layover.run_state t where t.run_id = x.run_id and layover.is_ready(t, v_now)),
        'branches', case when exists (select from layover.run_state t
            where t.run_id = x.run_id and t.paused_at is null and t.blocked is null)
          then layover.ready_branches(x.run_id, v_now) end,
        'others', (
          select jsonb_agg(jsonb_build_object('runId', t.run_id, 'turn', t.turn) order by t.run_id)
            from (
              (select r.id from layover.run r where r.parent_run_id = x.run_id order by r.id desc limit 1000)
              union all
              select r.parent_run_id from layover.run r where r.id = x.run_id
            ) as o join layover.run_state t on t.run_id = o.id
           where layover.is_ready(t, v_now)))))::json
      from layover.operation x where x.run_id = find_verdict.run and x.call_id = (p->>'callId')::uuid);
end $$;

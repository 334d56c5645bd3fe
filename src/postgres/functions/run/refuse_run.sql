-- parked -> parked or blocked, when the code of a deployment does not fit the run. The run is blocked only when each live deployment that
-- carries its version has refused it: there is no order among deployments, so another one may be right. A caller without an id speaks
-- for all.
--
-- Its caller has locked the run. Answers whether the run is blocked or over. If it is neither, the caller says when it is looked at.
create or replace function layover.refuse_run(run uuid, deployment text, why text) returns boolean
language plpgsql volatile as $$
declare
  v_is_blocked boolean := true;
  v_refused    jsonb;
begin
  if deployment is not null then
    select coalesce(t.refused_by, '{}') || jsonb_build_object(deployment,
        jsonb_build_object('at', layover.to_ms(layover.now()), 'why', left(why, 2000)))
      into v_refused from layover.run_state t where t.run_id = run;
    v_is_blocked := not layover.has_taker(run, v_refused);
  end if;
  update layover.run_state t
     set refused_by = coalesce(v_refused, t.refused_by), blocked = case when v_is_blocked then why else t.blocked end,
         due_at = case when v_is_blocked then null else t.due_at end
   where t.run_id = run and t.ended_at is null
   returning t.blocked is not null into v_is_blocked;
  return coalesce(v_is_blocked, true);
end $$;

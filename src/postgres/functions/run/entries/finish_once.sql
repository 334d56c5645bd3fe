-- running -> parked and ready, or a branch: leased -> recorded, within the transaction of a step's body (`step.transaction`): the body's
-- writes and its record are committed together. It raises unless this very call finishes the turn, and so undoes what the body did. So it
-- is never sent again, and answers nothing that was told before.
--
-- The handler has not seen the record yet, so `handed_position` stays where its turn has seen the history.
create or replace function layover.finish_once(p jsonb) returns json
language plpgsql volatile as $$
declare
  f        constant jsonb := p->'turn';
  v_run    constant uuid := (f->>'runId')::uuid;
  v_token  constant uuid := (f->>'token')::uuid;
  v_answer json;
begin
  perform layover.check_isolation();
  perform from layover.run_state t where t.run_id = v_run and t.namespace = p->>'namespace'
    and (f ? 'path' or t.token = v_token and t.last_position = (f->>'position')::integer) for update;
  if found and (not f ? 'path' or exists (select from layover.pending b where b.run_id = v_run and b.path = f->>'path'
    and b.occurrence = (f->>'occurrence')::integer and b.token = v_token))
  then
    v_answer := layover.finish_turn(p, f);
  end if;
  if v_answer->>'outcome' is distinct from 'finished' then
    raise exception 'somebody else has the turn of this step' using errcode = 'LO013',
      hint = 'Its transaction is rolled back. Whoever has the turn carries out the step.';
  end if;
  if not f ? 'path' then
    update layover.run_state t set handed_position = (f->>'position')::integer where t.run_id = v_run;
  end if;
  perform layover.check_armed(p);
  -- After this instant its alarms may have rung in vain. A session that waits longer for its commit is ended.
  perform set_config('idle_in_transaction_session_timeout',
    greatest(1, (p->>'notAfter')::bigint - layover.to_ms(layover.now()))::text, true);
  return v_answer;
end $$;

-- parked -> running, when its turn is claimed. (running -> running when the lease is over: see reclaim_run.)
create or replace function layover.claim_run(p jsonb, c jsonb) returns json
language plpgsql volatile as $$
declare
  v_run   constant uuid := (c->>'runId')::uuid;
  v_alone constant boolean := coalesce((c->>'alone')::boolean, false);
  v_refusal json;
begin
  update layover.run_state as s
     set status = 'running', token = (c->>'token')::uuid,
         leased_until = layover.now() + (p->>'leaseMs')::integer * interval '1 millisecond',
         claims = v_alone::integer, dispatches = 0
    from layover.run r
   where s.run_id = v_run and r.id = v_run
     and s.namespace = p->>'namespace' and layover.is_carried_here(p, r.workflow, r.version)
     and s.status = 'parked' and s.turn = (c->>'turn')::integer and s.ready_at <= layover.now()
     and s.blocked is null and s.paused_at is null
     and (s.cancelled_position is not null
       or (s.cancel_requested_at is null and (s.timeout_at is null or s.timeout_at > layover.now())));
  if not found then
    v_refusal := layover.reclaim_run(p, c);
    if v_refusal is not null then
      return v_refusal;
    end if;
  end if;
  return layover.describe_run(c);
end $$;

-- Looks at the kept signals that are due. If the run is there meanwhile, it gets them: its first claim may have looked before they were kept.
-- If they have waited long enough, they are gone, and their deliveries are `expired`. All others are looked at again when they expire.
--
-- `isMore`: there is more, and it did something. `isLocked`: all that it has found is locked by others, or its delivery is. They may never
-- commit, so the caller asks once more, with `waits`.
--
-- `left`: the deliveries whose signals no run took. It locks a run before its kept signals, as a claim does. If it waits, it locks deliveries
-- before all that, as receive_delivery does. `limit`: how many runs, and how many signals.
create or replace function layover.send_kept_signals(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_turns  jsonb := '[]';
  v_left   jsonb := '[]';
  v_run    record;
  v_answer json;
  v_reason text;
  v_gone   jsonb;
  v_count  bigint := 0;
  v_moved  bigint;
  v_isdue  boolean;
  u        layover.kept_signal;
begin
  perform layover.check_isolation();
  perform layover.check_environment(p);
  if (p->>'waits')::boolean then
    perform from layover.delivery j
     where (j.namespace, j.webhook, j.id) in (
       select o.namespace, o.webhook, o.delivery from layover.kept_signal o
        where o.namespace = p->>'namespace' and o.due_at <= v_now order by o.number limit (p->>'limit')::integer)
     order by j.webhook, j.id for update;
  end if;
  for v_run in
    select distinct r.id, r.workflow, r.user_id
      from layover.kept_signal o
      join layover.run r on r.namespace = o.namespace and r.workflow = o.workflow and r.user_id = o.user_id
     where o.namespace = p->>'namespace' and o.due_at <= v_now order by r.id limit (p->>'limit')::integer
  loop
    perform from layover.run_state t where t.run_id = v_run.id for update;
    for u in
      select o.* from layover.kept_signal o
       where o.namespace = p->>'namespace' and o.workflow = v_run.workflow and o.user_id = v_run.user_id order by o.number for update
    loop
      begin
        v_answer := layover.send_signal(p - 'limit' || jsonb_build_object('runId', v_run.id, 'workflow', u.workflow, 'name', u.name,
          'signalId', u.id, 'encodedPayload', u.payload) || jsonb_strip_nulls(jsonb_build_object('dedupeId', u.dedupe_id)));
      exception when sqlstate 'LO007' then
        v_answer := json_build_object('outcome', 'full', 'reason', sqlerrm);
      end;
      continue when v_answer->>'outcome' = 'unknown'; -- the run was pruned meanwhile
      v_reason := case when v_answer->>'outcome' = 'full' then v_answer->>'reason' when v_answer->>'outcome' in ('over', 'closed')
        then layover.describe_untaken(v_run.id, u.workflow, u.name, v_answer->>'outcome') end;
      if v_reason is null then
        delete from layover.kept_signal o
         where o.namespace = u.namespace and o.workflow = u.workflow and o.user_id = u.user_id and o.number = u.number;
      else
        v_gone := layover.leave_kept(u, 'refused', v_reason);
        continue when v_gone is null;
        v_left := v_left || v_gone;
      end if;
      v_count := v_count + 1;
      if v_answer->>'turn' is not null then
        v_turns := v_turns || jsonb_build_object('runId', v_run.id, 'turn', v_answer->'turn');
      end if;
    end loop;
  end loop;
  if (p->>'waits')::boolean then
    perform from layover.kept_signal o
     where o.namespace = p->>'namespace' and o.due_at <= v_now and not exists (select from layover.run r
       where r.namespace = o.namespace and r.workflow = o.workflow and r.user_id = o.user_id)
     order by o.number limit (p->>'limit')::integer for update;
  end if;
  for u in
    select e.* from layover.kept_signal e
     where e.namespace = p->>'namespace' and e.due_at <= v_now and e.expires_at <= v_now
       and not exists (select from layover.run r -- it is there, on a later page
         where r.namespace = e.namespace and r.workflow = e.workflow and r.user_id = e.user_id)
     order by e.due_at limit (p->>'limit')::integer for update skip locked
  loop
    continue when exists (select from layover.run r -- it was started since the loop began: the next call sends the signal
      where r.namespace = u.namespace and r.workflow = u.workflow and r.user_id = u.user_id);
    v_gone := layover.leave_kept(u, 'expired',
      format('no run "%s" of workflow %s was started within 96 hours', u.user_id, u.workflow));
    continue when v_gone is null;
    v_count := v_count + 1;
    v_left := v_left || v_gone;
  end loop;
  update layover.kept_signal o set due_at = o.expires_at
   where (o.namespace, o.workflow, o.user_id, o.number) in (
     select e.namespace, e.workflow, e.user_id, e.number from layover.kept_signal e
      where e.namespace = p->>'namespace' and e.due_at <= v_now and e.expires_at > v_now
        and not exists (select from layover.run r
          where r.namespace = e.namespace and r.workflow = e.workflow and r.user_id = e.user_id)
      order by e.due_at limit (p->>'limit')::integer for update skip locked);
  get diagnostics v_moved = row_count;
  perform layover.check_armed(p);
  v_isdue := exists (select from layover.kept_signal o where o.namespace = p->>'namespace' and o.due_at <= v_now);
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', v_turns, 'left', v_left,
    'isMore', v_isdue and v_count + v_moved > 0, 'isLocked', v_isdue and v_count + v_moved = 0);
end $$;

-- over -> gone, when somebody asks for it. All rows of the run are deleted, signals that are kept for it, and what deliveries have brought to
-- it (an act on many runs does that at the end of its page). One row of `deletion` is kept for as long as the run would have
-- been kept. By that row start_run knows a start of this run that comes late, and the same call again is answered the same.
--
-- From psql: select layover.delete_run('{"runId": "…", "reason": "the customer asked for it", "by": "ada"}').
create or replace function layover.delete_run(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_namespace constant text := coalesce(p->>'namespace', 'default');
  v_run       constant uuid := layover.find_run(p);
  v_ended     timestamptz;
  v_verdict   json;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  perform layover.lock_families(array[v_run], false);
  select t.ended_at into v_ended from layover.run_state t where t.run_id = v_run for update;
  if not found then
    return case when exists (
        select from layover.deletion z where z.namespace = v_namespace and z.run_id = (p->>'runId')::uuid)
      then json_build_object('outcome', 'deleted', 'runId', p->>'runId') else json_build_object('outcome', 'unknown') end;
  end if;
  v_verdict := layover.find_verdict(v_run, p);
  if v_verdict is null and v_ended is null then
    v_verdict := layover.keep_operation(v_run, 'delete', p, json_build_object('outcome', 'not_applicable', 'runId', v_run,
      'status', (select layover.run_status(t) from layover.run_state t where t.run_id = v_run)));
  elsif v_verdict is null then
    with gone as (
      delete from layover.kept_signal u using layover.run r
       where r.id = v_run and u.namespace = r.namespace and u.workflow = r.workflow and u.user_id = r.user_id
       returning u.webhook, u.delivery
    )
    update layover.delivery j set event = null, headers = null
     where (j.namespace, j.webhook, j.id) in (
       select o.namespace, o.webhook, o.id from layover.delivery o join gone on gone.webhook = o.webhook and gone.delivery = o.id
        where o.namespace = v_namespace for update of o skip locked);
    perform layover.delete_rows(v_run);
    if not p ? 'isOneOfMany' then
      perform layover.forget_deliveries(v_namespace, array[v_run]);
    end if;
    insert into layover.deletion (namespace, run_id, asked_by, reason, deleted_at)
      values (v_namespace, v_run, p->>'by', p->>'reason', layover.now())
      on conflict on constraint deletion_pkey do update -- the retry of its parent has made it again
        set asked_by = excluded.asked_by, reason = excluded.reason, deleted_at = excluded.deleted_at;
    v_verdict := json_build_object('outcome', 'deleted', 'runId', v_run);
  end if;
  perform layover.check_time(p);
  return v_verdict;
end $$;

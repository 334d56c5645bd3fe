-- over -> gone, when a run was kept long enough. A bounded number at a time. What is kept of deleted runs goes as late as a run would.
create or replace function layover.prune_runs(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
  v_run uuid;
  v_count integer := 0;
begin
  for v_run in
    select t.run_id from layover.run_state t
     where t.namespace = p->>'namespace'
       and t.ended_at <= v_now - least((p->>'keepMs')::bigint, (p->>'keepFailedMs')::bigint) * interval '1 millisecond'
       and t.ended_at <= v_now - (case when t.status = 'failed' then p->>'keepFailedMs' else p->>'keepMs' end)::bigint
         * interval '1 millisecond'
     order by t.ended_at limit (p->>'limit')::integer for update skip locked
  loop
    perform layover.delete_rows(v_run);
    v_count := v_count + 1;
  end loop;
  delete from layover.deletion z
   where (z.namespace, z.run_id) in (
     select o.namespace, o.run_id from layover.deletion o
      where o.namespace = p->>'namespace'
        and o.deleted_at <= v_now - greatest((p->>'keepMs')::bigint, (p->>'keepFailedMs')::bigint) * interval '1 millisecond'
      order by o.deleted_at limit (p->>'limit')::integer for update skip locked);
  perform layover.prune_deliveries(p);
  perform layover.check_time(p);
  return json_build_object('pruned', v_count);
end $$;

-- over -> gone, when a run was kept long enough: as long as its workflow says for its outcome (`retention` of its contract), otherwise
-- `keepMs`, a failed one `keepFailedMs`. A bounded number at a time. What is kept of deleted runs goes as late as a run would.
-- `isMore`: another call would find more to do at once. If two prune at once, the second one leaves it to the first.
create or replace function layover.prune_runs(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now   constant timestamptz := layover.now();
  v_rules constant jsonb := layover.find_retention(p);
  v_limit constant integer := (p->>'limit')::integer;
  v_keeps bigint[];
  v_keep  bigint;
  v_walk  record;
  v_count integer := 0;
  v_more  boolean := false;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(7812092, pg_catalog.hashtext(p->>'namespace')) then
    return json_build_object('pruned', 0, 'isMore', false);
  end if;
  select array_agg(distinct q.ms order by q.ms) into v_keeps from (
    values ((p->>'keepMs')::bigint), ((p->>'keepFailedMs')::bigint)
    union all select k.value::bigint from jsonb_each(v_rules) as w, jsonb_each_text(w.value) as k) as q (ms);
  foreach v_keep in array v_keeps loop
    exit when v_count >= v_limit;
    v_walk := layover.prune_walk(p, v_rules, v_keep, v_limit - v_count);
    v_count := v_count + v_walk.pruned;
    v_more := v_more or v_walk.is_more;
  end loop;
  delete from layover.pruning u where u.namespace = p->>'namespace' and u.began_at < v_now - interval '60 days';
  delete from layover.deletion z
   where (z.namespace, z.run_id) in (
     select o.namespace, o.run_id from layover.deletion o
      where o.namespace = p->>'namespace'
        and o.deleted_at <= v_now - v_keeps[cardinality(v_keeps)] * interval '1 millisecond'
      order by o.deleted_at limit v_limit for update skip locked);
  v_more := layover.prune_old_deliveries(p) or v_more;
  perform layover.check_time(p);
  return json_build_object('pruned', v_count, 'isMore', v_more);
end $$;

-- Deletes runs that are kept for `keep_ms` and were kept that long, up to `most`. It walks the runs in the order of their ends, and
-- `pruning` keeps how far it came. So it looks at each run once for each time that runs are kept, however many are kept for longer:
-- without that, 100,000 failed runs that stay for 90 days would be read at every tick.
--
-- The walk looks again at the last ten minutes, since a run may be committed later than it ended. It never passes a run that somebody
-- has locked. It begins from the first run once in 30 days, and if it is ahead of the clock: then somebody has set the clock back.
-- A run is kept longer if its parent would wait for it again (is_wanted_again). The walk passes it, and finds it when it has begun again.
--
-- `is_more`: another call would find more to do at once.
create or replace function layover.prune_walk(p jsonb, rules jsonb, keep_ms bigint, most integer, out pruned integer, out is_more boolean)
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_until  constant timestamptz := v_now - keep_ms * interval '1 millisecond';
  v_settled constant timestamptz := v_now - interval '10 minutes';
  v_rules  constant text := md5(concat_ws(' ', rules, p->>'keepMs', p->>'keepFailedMs'));
  v_from   timestamptz;
  v_began  timestamptz;
  v_seen   integer;
  v_last   timestamptz; -- the end of the last run of this page
  v_taken  integer := 0;
  v_stuck  timestamptz; -- the end of the first run that could not be deleted
  v_run    record;
begin
  pruned := 0;
  select u.pruned_until, u.began_at into v_from, v_began from layover.pruning u
   where u.namespace = p->>'namespace' and u.rules = v_rules and u.keep_ms = prune_walk.keep_ms;
  if v_from is null or v_from > v_until or v_began not between v_now - interval '30 days' and v_now then
    v_from := '-infinity';
    v_began := v_now;
  end if;
  select count(*), max(q.ended_at) into v_seen, v_last from (
    select t.ended_at from layover.run_state t
     where t.namespace = p->>'namespace' and t.ended_at > v_from and t.ended_at <= v_until
     order by t.ended_at fetch first (10 * most) rows with ties) as q;
  if v_last is null then
    is_more := false;
    return;
  end if;
  for v_run in
    select t.run_id, t.ended_at from layover.run_state t
     where t.namespace = p->>'namespace' and t.ended_at > v_from and t.ended_at <= v_last
       and prune_walk.keep_ms = coalesce(
         case when rules <> '{}' then (rules->(select r.workflow from layover.run r where r.id = t.run_id)->>t.status)::bigint end,
         (case when t.status = 'failed' then p->>'keepFailedMs' else p->>'keepMs' end)::bigint)
       and not (t.has_parent and layover.is_wanted_again(t.run_id))
     order by t.ended_at limit most
  loop
    v_taken := v_taken + 1;
    perform from layover.run_state t where t.run_id = v_run.run_id and t.ended_at = v_run.ended_at for update skip locked;
    if found then
      perform layover.delete_rows(v_run.run_id);
      pruned := pruned + 1;
    else
      v_stuck := coalesce(v_stuck, v_run.ended_at);
    end if;
    if v_taken = most then
      v_last := v_run.ended_at - interval '1 microsecond'; -- others may have ended in that very millisecond
    end if;
  end loop;
  v_last := least(v_last, v_settled, v_stuck - interval '1 microsecond');
  is_more := pruned = most or v_seen >= 10 * most and v_last < v_settled and v_last > v_from;
  if v_last > v_from then
    insert into layover.pruning as u (namespace, rules, keep_ms, pruned_until, began_at)
      values (p->>'namespace', v_rules, prune_walk.keep_ms, v_last, v_began)
      on conflict on constraint pruning_pkey do update set pruned_until = excluded.pruned_until, began_at = excluded.began_at;
  end if;
end $$;

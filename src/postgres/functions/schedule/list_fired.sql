-- Answers the runs that a schedule has started at its last firing and that nobody has claimed: up to a hundred, if it has caught up. After five
-- minutes their own due instants have found them.
--
-- Their ids begin with the time, and the firing has made them within seconds. So the index of a workflow's runs names them, however many runs
-- there are. The run of a trigger has an id that its caller made.
create or replace function layover.list_fired(v layover.schedule) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('runId', q.id, 'turn', t.turn, 'schedule', v.name, 'at', q.at) order by q.at, q.id), '[]')
    from (
      select r.id, r.scheduled->'at' as at
        from layover.run r
       where r.namespace = v.namespace and r.workflow = v.workflow and r.scheduled->>'schedule' = v.name
         and r.id >= layover.first_id(layover.to_ms(v.last_fired_at))
         and r.id < layover.first_id(layover.to_ms(v.last_fired_at) + 10000)
      union
      select r.id, r.scheduled->'at' from layover.run r where r.id = v.last_run_id
    ) as q
    join layover.run_state t on t.run_id = q.id
   where v.last_fired_at > layover.now() - interval '5 minutes'
     and t.turn = 1 and t.status = 'parked' and t.paused_at is null;
$$;

-- Gives a run what deliveries have kept for it, in order of arrival. Its caller holds the run's lock, and nobody has claimed the run yet: its
-- next claim sees all of it.
create or replace function layover.take_kept(run uuid) returns void
language plpgsql volatile as $$
begin
  with gone as (
    delete from layover.kept_signal u using layover.run r
     where r.id = take_kept.run and u.namespace = r.namespace and u.workflow = r.workflow and u.user_id = r.user_id
     returning u.*
  )
  insert into layover.signal (run_id, id, dedupe_id, name, payload, is_parsed, received_at)
    select take_kept.run, g.id, g.dedupe_id, g.name, g.payload, true, g.kept_at from gone g order by g.number
    on conflict do nothing;
  if found then
    update layover.run_state t set has_mail = true where t.run_id = take_kept.run;
  end if;
end $$;

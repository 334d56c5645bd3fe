-- Answers what a retry changes of a run and what its history does not tell, so that take_back_retry can put it back.
create or replace function layover.describe_before(run uuid) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object('state', to_jsonb(t), 'signals', (
        select coalesce(jsonb_agg(jsonb_build_object('number', g.number, 'position', g.position)), '[]') from layover.signal g
         where g.run_id = run and g.position is not null and g.taken_epoch = t.epoch), 'callbacks', (
        select coalesce(jsonb_agg(to_jsonb(k)), '[]') from layover.callback k where k.run_id = run and k.position is not null))
      from layover.run_state t where t.run_id = run);
end $$;

-- Answers of what segments the history of a run is made: see layover.epoch. A run in its epoch 0 has one, which
-- begins when the run may begin: a start may have a delay.
create or replace function layover.segments_of(run uuid, epoch integer) returns jsonb
language plpgsql stable as $$
begin
  return coalesce(
    (select e.segments from layover.epoch e where e.run_id = run and e.epoch = segments_of.epoch),
    (select jsonb_build_array(jsonb_build_object('from', 0, 'at', layover.to_ms(coalesce(r.starts_at, r.created_at)), 'run', r.id, 'epoch', epoch))
      from layover.run r where r.id = run));
end $$;

-- Whether something has come in time that ends a wait of this run.
create or replace function layover.has_answer(run uuid) returns boolean
language plpgsql volatile as $$
begin
  return (
    select exists (
      select from layover.pending b
       where b.run_id = run and b.kind = 'signal' and not b.is_released and exists (
         select from layover.signal g where g.run_id = b.run_id and g.name = b.signal and g.position is null
           and (b.until is null or g.received_at <= b.until))
    ) or exists (
      select from layover.callback k join layover.pending b
          on b.run_id = k.run_id and b.path = k.path and b.occurrence = k.occurrence
       where k.run_id = run and k.position is null and b.kind = 'callback' and not b.is_released
         and k.epoch = coalesce(b.callback_epoch, (select t.epoch from layover.run_state t where t.run_id = run))
    ) or exists (
      select from layover.pending b
       where b.run_id = run and b.child_status is not null and not b.is_released
         and (b.until is null or b.child_ended_at <= b.until)
    )
  );
end $$;

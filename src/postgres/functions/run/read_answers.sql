-- Reads the answers to callbacks that the run may take.
create or replace function layover.read_answers(run uuid, epoch integer) returns json
language plpgsql volatile as $$
begin
  return (
    select json_agg(json_build_object('path', k.path, 'occurrence', k.occurrence, 'outcome', k.outcome, 'value', k.value,
        'answeredAt', layover.to_ms(k.answered_at), 'epoch', k.epoch))
      from layover.callback k where k.run_id = $1 and k.position is null and (k.epoch = $2 or $2 > 0 and layover.is_epoch_alive($1, $2,
        jsonb_build_object('epoch', k.epoch, 'path', k.path, 'occurrence', k.occurrence)))
  );
end $$;

-- A stretch of the history, in order, each record as [kind, path, occurrence, isFailure, value, recordedAt, attempts].
create or replace function layover.read_records(run uuid, epoch integer, after integer, through integer) returns json
language plpgsql volatile as $$
begin
  return (select json_agg(json_build_array(h.kind, h.path, h.occurrence, h.is_failure, h.value,
      layover.to_ms(h.recorded_at), h.attempts) order by h.position)
    from layover.record h
   where h.run_id = $1 and h.epoch = $2 and h.position > $3 and h.position <= $4);
end $$;

-- Answers a part of the history, in order. Each record is [kind, path, occurrence, isFailure, value, recordedAt, attempts]. With `budget`
-- it answers as many of the first records as fit in so many bytes, at least one. It counts each value twice, since quotes and backslashes
-- double within json.
create or replace function layover.read_records(run uuid, epoch integer, after integer, through integer, budget bigint)
returns json
language plpgsql volatile as $$
declare
  v_through integer := through;
begin
  if budget is not null then
    select coalesce(min(o.position) - 1, $4) into v_through
      from (
        select h.position, sum(2 * (coalesce(octet_length(h.value), 0) + 200)) over (order by h.position) as bytes
          from layover.record h where h.run_id = $1 and h.epoch = $2 and h.position > $3 and h.position <= $4
      ) as o where o.bytes > budget and o.position > $3 + 1;
  end if;
  return (select json_agg(json_build_array(h.kind, h.path, h.occurrence, h.is_failure, h.value,
      layover.to_ms(h.recorded_at), h.attempts) order by h.position)
    from layover.record h
   where h.run_id = $1 and h.epoch = $2 and h.position > $3 and h.position <= v_through);
end $$;

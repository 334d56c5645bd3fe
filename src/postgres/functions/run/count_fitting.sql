-- Answers how many of the first turns of a claim fit in its budget of bytes: at least one. It counts what the caller does not hold:
-- input, history, mail and pending rows, and the errors that a run which closes is told (read_attempted). It counts each value twice, since
-- quotes and backslashes double within json. What a store of the user's keeps for the run (layover/store) counts whole, since the caller
-- fetches it with the answer.
--
-- It looks without a lock: one record more does no harm.
create or replace function layover.count_fitting(p jsonb) returns integer
language plpgsql volatile as $$
begin
  return (
    select count(*) filter (where o.place = 1 or o.bytes <= (p->>'budgetBytes')::bigint)
      from (
        select i.place, sum(coalesce(s.bytes, 0)) over (order by i.place) as bytes
          from jsonb_array_elements(p->'turns') with ordinality as i (turn, place)
          left join lateral (
            select 2 * (case
                when (i.turn->'have'->>'epoch')::integer = t.epoch
                  and (i.turn->'have'->>'position')::integer = t.last_position then 0
                when (i.turn->'have'->>'epoch')::integer = t.epoch
                  and (i.turn->'have'->>'position')::integer < t.last_position
                then (select sum(coalesce(octet_length(h.value), 0) + 200) from layover.record h
                  where h.run_id = t.run_id and h.epoch = t.epoch
                    and h.position > (i.turn->'have'->>'position')::integer and h.position <= t.last_position)
                else t.history_bytes + 200 * t.last_position
                  + (select octet_length(r.input) from layover.run r where r.id = t.run_id) end
              + case when t.has_mail and not i.turn ? 'path' then
                  coalesce((select sum(octet_length(g.payload) + 200) from layover.signal g
                    where g.run_id = t.run_id and g.position is null), 0)
                  + coalesce((select sum(octet_length(k.value) + 200) from layover.callback k
                    where k.run_id = t.run_id and k.position is null), 0)
                  + (select least(coalesce(sum(octet_length(b.child_value) + 200), 0), 1048576) from layover.pending b
                    where b.run_id = t.run_id and b.child_status is not null)
                else 0 end
              + case when t.has_pending and not i.turn ? 'path' then
                  coalesce((select sum(octet_length(b.path) + 200) from layover.pending b where b.run_id = t.run_id), 0)
                else 0 end
              + case when t.is_closing and not i.turn ? 'path' then
                  (select least(coalesce(sum(octet_length(a.error)), 0), 1048576) from layover.attempt a
                    where a.run_id = t.run_id and a.epoch = t.epoch)
                else 0 end)
              + coalesce((select sum(v.bytes) from layover.stored_value v where v.run_id = t.run_id), 0) as bytes
              from layover.run_state t where t.run_id = (i.turn->>'runId')::uuid
          ) as s on true
      ) as o);
end $$;

-- Stores new branches, sleeps and waits that were demanded up to the given position of the history (null: all of them). Answers the
-- branches that may be claimed at once.
--
-- A step that waits for its next attempt as the run's only step becomes a branch where new code asks for something beside it. Its attempts
-- and the time of the next one stay.
create or replace function layover.record_demands(run uuid, through integer, demands jsonb) returns json
language plpgsql volatile as $$
declare
  v_through constant integer := coalesce(through, 2147483647);
  v_now     constant timestamptz := layover.now();
  v_ready json;
begin
  insert into layover.map (run_id, path, counted, slots, fails_fast)
    select distinct on (d->'map'->>'path') record_demands.run, d->'map'->>'path', 0, (d->'map'->>'slots')::integer,
        (d->'map'->>'failsFast')::boolean
      from jsonb_array_elements(demands) as d
     where d->'map' is not null and (d->>'demandedAfter')::integer <= v_through
    on conflict do nothing;
  with item as (
    select d->>'kind' as kind, d->>'path' as path, (d->>'occurrence')::integer as occurrence,
        (d->>'demandedAfter')::integer as demanded_after, (d->>'ordinal')::integer as ordinal, d->>'signal' as signal,
        layover.from_ms((d->>'until')::bigint) as until, coalesce((d->>'isShielded')::boolean, false) as is_shielded,
        (d->>'callbackEpoch')::integer as callback_epoch,
        case when d->>'kind' = 'branch' then d->'map'->>'path' end as map
      from jsonb_array_elements(demands) as d
     where (d->>'demandedAfter')::integer <= v_through
  ), fresh as (
    select i.kind, i.path, i.occurrence, i.demanded_after, i.ordinal, i.signal, i.until, i.is_shielded, i.callback_epoch, i.map,
        row_number() over (partition by i.map order by i.ordinal) > m.slots as is_queued
      from item i left join layover.map m on m.run_id = record_demands.run and m.path = i.map
     where not exists (select from layover.pending b
       where b.run_id = record_demands.run and b.path = i.path and b.occurrence = i.occurrence
         and not (b.kind = 'retry' and i.kind = 'branch'))
  ), added as (
    insert into layover.pending (run_id, path, occurrence, kind, demanded_after, signal, until, map, ordinal, is_queued,
        is_counted, is_shielded, callback_epoch, ready_at)
      select record_demands.run, i.path, i.occurrence, i.kind, i.demanded_after, i.signal, i.until, i.map, i.ordinal,
          coalesce(i.is_queued, false), i.map is not null, i.is_shielded, i.callback_epoch, case when i.kind = 'branch' then timestamptz 'epoch' end
        from fresh i
      on conflict (run_id, path, occurrence) do update
        set kind = excluded.kind, demanded_after = excluded.demanded_after, ordinal = excluded.ordinal, map = excluded.map,
          is_queued = excluded.is_queued, is_shielded = excluded.is_shielded,
          is_counted = excluded.is_queued or excluded.is_counted and pending.ready_at <= v_now + interval '10 s'
      returning kind, path, occurrence, map, is_queued, is_counted, ordinal, turn, ready_at
  ), counted as (
    update layover.map m set counted = m.counted + a.count, slots = m.slots - a.ready
      from (select map, count(*) filter (where is_counted)::integer as count, count(*) filter (where not is_queued)::integer as ready
              from added where map is not null group by map) as a
     where m.run_id = record_demands.run and m.path = a.map
  )
  select json_agg(json_build_object('path', a.path, 'occurrence', a.occurrence, 'turn', a.turn) order by a.ordinal)
    into v_ready from added a where a.kind = 'branch' and not a.is_queued and a.ready_at <= v_now;
  return v_ready;
end $$;

-- Gives slots that became free to the first branches in the queue of their map: queued -> ready. Their bodies had lost a race.
create or replace function layover.ready_freed(run uuid) returns json
language plpgsql volatile as $$
declare
  v_ready json;
begin
  with freed as (
    select q.path, q.occurrence, q.map, q.ordinal
      from (select b.path, b.occurrence, b.map, b.ordinal, row_number() over (partition by b.map order by b.ordinal) as rank
              from layover.pending b where b.run_id = run and b.is_queued) as q
      join layover.map m on m.run_id = run and m.path = q.map and q.rank <= m.slots
  ), taken as (
    update layover.map m set slots = m.slots - f.count
      from (select map, count(*)::integer as count from freed group by map) as f
     where m.run_id = run and m.path = f.map
  ), readied as (
    update layover.pending b set is_queued = false, ready_at = 'epoch'
      from freed f where b.run_id = run and b.path = f.path and b.occurrence = f.occurrence
    returning b.path, b.occurrence, b.turn, b.ordinal
  )
  select json_agg(json_build_object('path', r.path, 'occurrence', r.occurrence, 'turn', r.turn) order by r.ordinal)
    into v_ready from readied r;
  return v_ready;
end $$;

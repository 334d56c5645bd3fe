-- What the rows of runs may never be, whatever happened: one function, in every database of the tests.
create schema layover_test;

-- The setback that a turn is to make good, if there is one.
create function layover_test.setback(run uuid, path text, occurrence integer, turn integer) returns json
language plpgsql volatile as $$
begin
  return (select json_build_array(b.tries, layover.to_ms(b.since), layover.to_ms(b.until)) from layover.setback b
    where b.run_id = run and b.path = setback.path and b.occurrence = setback.occurrence and b.turn = setback.turn);
end $$;

-- When to look at what may be claimed from an instant on: what was dispatched and never claimed can wait.
create function layover_test.patience(at_now timestamptz, at timestamptz, dispatches smallint) returns timestamptz
language sql stable as $$
  select case when at <= at_now and dispatches > 0
    then at_now + least(interval '1 minute' * power(2, dispatches - 1), interval '6 hours') else at end
$$;

-- What the rows of these runs may never be, whatever happened: each line is the rule that a row breaks.
create function layover_test.violations(runs uuid[], late_until timestamptz) returns text[]
language plpgsql volatile as $$
declare
  v_now  constant timestamptz := layover.now();
  v_soon constant timestamptz := v_now + interval '2 minutes';
begin
  return (with state as (
    select s.run_id, s.status, s.last_position, s.handed_position, s.token, s.leased_until, s.ready_at, s.due_at,
        s.ended_at is not null as is_over, s.dispatches,
        -- When a claim is to write into its history that it closes, or that its cleanups have taken too long.
        case when s.cancel_requested_at is not null and s.cancelled_position is null then timestamptz 'epoch'
          when s.cancel_requested_at is not null or s.cancelled_position is null then s.timeout_at end as stops_at,
        s.ended_at is null and s.paused_at is null and s.blocked is null as is_live,
        layover_test.setback(s.run_id, '', 1, s.turn) is null as is_even
      from layover.run_state s where s.run_id = any(runs)
  ), row as (
    select b.run_id, b.path, b.occurrence, b.kind, b.signal, b.until, b.map, b.is_queued, b.is_counted, b.is_released,
        b.ready_at, b.token, b.leased_until, b.position, b.dispatches
      from layover.pending b where b.run_id = any(runs)
  ), history as (
    select s.run_id, count(h.position) as count, min(h.position) as first, max(h.position) as last,
        bool_or(h.is_before) as is_before
      from state s left join (
        select r.run_id, r.position,
            r.recorded_at < lag(r.recorded_at) over (partition by r.run_id order by r.position) as is_before
          from layover.record r join layover.run_state t on t.run_id = r.run_id and t.epoch = r.epoch
         where r.run_id = any(runs)) as h on h.run_id = s.run_id
     group by s.run_id
  ), need as (
    select s.run_id, least(layover_test.patience(v_now, case when s.status = 'running' then s.leased_until
          else least(s.ready_at, s.stops_at) end, s.dispatches), (
          select min(layover_test.patience(v_now, coalesce(b.leased_until, b.ready_at), b.dispatches)) from row b
           where b.run_id = s.run_id and b.kind = 'branch' and b.position is null and not b.is_queued
             and not b.is_released)) as at
      from state s
  ), broken as (
    select s.run_id, 'positions are dense from 1, and last_position is the last' as rule
      from state s join history h on h.run_id = s.run_id
     where h.count <> s.last_position or h.count > 0 and (h.first <> 1 or h.last <> h.count)
    union all
    select h.run_id, 'no record is older than the one ahead of it' from history h where h.is_before
    union all
    select s.run_id, 'a run that is over has neither leases, nor pending rows, nor a due instant' from state s
     where s.is_over and (s.token is not null or s.ready_at is not null or s.due_at is not null
       or exists (select from row b where b.run_id = s.run_id)
       or exists (select from layover.map m where m.run_id = s.run_id))
    union all
    select s.run_id, 'what is not over, paused or blocked and needs to be looked at has a due instant'
      from state s join need n on n.run_id = s.run_id where s.is_live and n.at is not null and s.due_at is null
    union all
    select s.run_id, 'due may be early, never late (by more than two minutes)'
      from state s join need n on n.run_id = s.run_id
     where s.is_live and s.due_at > greatest(n.at, v_soon, late_until)
    union all
    select m.run_id, 'a map counts the branches that it waits for' from layover.map m
     where m.run_id = any(runs) and m.counted <> (
       select count(*) from row b where b.run_id = m.run_id and b.map = m.path and b.is_counted)
    union all
    select m.run_id, 'a map that has a queue has no free slot' from layover.map m
     where m.run_id = any(runs) and m.slots <> 0
       and (m.slots < 0 or exists (select from row b where b.run_id = m.run_id and b.map = m.path and b.is_queued))
    union all
    select b.run_id, 'what is queued has somebody ahead in its map' from row b
     where b.is_queued and not exists (select from row o
       where o.run_id = b.run_id and o.map = b.map and not o.is_queued and o.position is null)
    union all
    select g.run_id, 'a signal is taken once, by a record of its kind with its payload' from layover.signal g
      join layover.run_state t on t.run_id = g.run_id and t.epoch = g.taken_epoch
      left join layover.record h on h.run_id = g.run_id and h.epoch = g.taken_epoch and h.position = g.position
     where g.run_id = any(runs) and g.position is not null and (h.kind, h.value) is distinct from ('signal', g.payload)
    union all
    select g.run_id, 'signals of a name are taken in order' from layover.signal g join layover.signal o
        on o.run_id = g.run_id and o.name = g.name and o.number < g.number and o.taken_epoch = g.taken_epoch
     where g.run_id = any(runs) and g.position is not null and coalesce(o.position >= g.position, true)
    union all
    select s.run_id, 'a parked run that a signal or an answer waits for is ready' from state s
     where s.status = 'parked' and s.is_even and coalesce(s.ready_at > v_now, true) and (
       exists (select from row b join layover.signal g on g.run_id = b.run_id and g.name = b.signal
         where b.run_id = s.run_id and not b.is_released and g.position is null
           and (b.until is null or g.received_at <= b.until))
       or exists (select from row b join layover.callback k
           on k.run_id = b.run_id and k.path = b.path and k.occurrence = b.occurrence
         where b.run_id = s.run_id and b.kind = 'callback' and not b.is_released and k.position is null
           and k.epoch = (select t.epoch from layover.run_state t where t.run_id = s.run_id)))
    union all
    select s.run_id, 'a parked run is ready once a run has ended in time that it waits for' from state s
     where s.status = 'parked' and s.is_even and coalesce(s.ready_at > v_now, true) and exists (
       select from layover.pending b where b.run_id = s.run_id and b.child_status is not null and not b.is_released
         and (b.until is null or b.child_ended_at <= b.until))
    union all
    select b.run_id, 'the end of a run has reached the one that waits for it' from layover.pending b
      join layover.run_state o on o.run_id = b.child_run_id
     where b.run_id = any(runs) and not b.is_released and b.child_status is null and o.ended_at is not null
    union all
    select b.run_id, 'a run has ended whose end its parent is told' from layover.pending b
      join layover.run r on r.id = b.child_run_id and (r.parent_run_id, r.parent_path, r.parent_occurrence) = (b.run_id, b.path, b.occurrence)
      join layover.run_state o on o.run_id = r.id
     where b.run_id = any(runs) and b.child_status is not null and o.ended_at is null
    union all
    select s.run_id, 'a parked run of which a sleep, a wait or a retry is over is ready' from state s
     where s.status = 'parked' and s.is_even and coalesce(s.ready_at > v_now, true) and exists (
       select from row b where b.run_id = s.run_id and not b.is_released
         and (b.kind <> 'branch' and b.until <= v_now or b.kind = 'retry' and b.ready_at <= v_now))
    union all
    select s.run_id, 'a parked run with a record that its handler has not seen is ready, unless its map waits for more'
      from state s
     where s.status = 'parked' and s.is_even and coalesce(s.ready_at > v_now, true) and exists (
       select from row b left join layover.map m on m.run_id = b.run_id and m.path = b.map
        where b.run_id = s.run_id and b.position > s.handed_position and not b.is_released
          and (b.map is null or m.counted = 0))
    union all
    select s.run_id, 'a parked run is ready from its cancel, its timeout or the end of its cleanups'' hour on' from state s
     where s.status = 'parked' and s.stops_at <= v_now
       and coalesce(s.ready_at > v_now, true)
    union all
    select x.run_id, 'nothing is left of a run that is gone' from (
        select r.id as run_id from layover.run r union all select t.run_id from layover.record t
        union all select t.run_id from layover.pending t union all select t.run_id from layover.map t
        union all select t.run_id from layover.attempt t
        union all select t.run_id from layover.setback t union all select t.run_id from layover.signal t
        union all select t.run_id from layover.callback t) as x
     where x.run_id = any(runs) and not exists (select from state s where s.run_id = x.run_id)
  )
  select coalesce(array_agg(distinct b.rule), '{}') from broken b);
end $$;

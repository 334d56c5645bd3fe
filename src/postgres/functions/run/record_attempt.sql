-- Stores the failed attempt of a run's inline step, for the timeline. The step then waits for its next attempt. Where an attempt of that
-- number was dropped before, this one takes its place.
create or replace function layover.record_attempt(run uuid, epoch integer, a jsonb) returns void
language plpgsql volatile as $$
begin
  insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error, request_id)
    values (run, record_attempt.epoch, a->>'path', (a->>'occurrence')::integer, (a->>'number')::integer,
      layover.from_ms((a->>'beganAt')::bigint), layover.from_ms((a->>'endedAt')::bigint), a->>'error', a->>'requestId')
    on conflict on constraint attempt_pkey do update
      set began_at = excluded.began_at, ended_at = excluded.ended_at, error = excluded.error, request_id = excluded.request_id;
  if a ? 'retryInMs' then
    insert into layover.pending as b (run_id, path, occurrence, kind, demanded_after, ordinal, attempts, is_shielded,
        ready_at)
      values (run, a->>'path', (a->>'occurrence')::integer, 'retry', (a->>'demandedAfter')::integer, 0,
        (a->>'number')::integer, coalesce((a->>'isShielded')::boolean, false), layover.ready_after((a->>'retryInMs')::bigint, layover.now()))
      on conflict (run_id, path, occurrence) do update set attempts = excluded.attempts, ready_at = excluded.ready_at;
  end if;
end $$;

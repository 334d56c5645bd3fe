-- Notes that a turn of a run (its path is empty) or of a branch made no progress, for a reason that may pass by itself: a handler that
-- waited too long, or a process that died again and again. Answers when the turn is tried again; null: it was tried often enough. Then the
-- run is blocked, unless its cancel or its timeout has come meanwhile: the next claim writes that into the history, and what the run does
-- then is tried anew. The caller has locked the run.
--
-- There are four tries, at whole minutes: 1 minute, 10 minutes, 1 hour and 6 hours after it happened. If nobody was there to try at that
-- time, the try comes as long after now. A try that a signal brings earlier does not count.
create or replace function layover.note_setback(run uuid, path text, occurrence integer, turn integer, why text)
returns timestamptz
language plpgsql volatile as $$
declare
  v_now   constant timestamptz := layover.now();
  v_since timestamptz;
  v_until timestamptz;
  v_tries integer;
  v_wait  interval;
begin
  select w.since, w.until, w.tries into v_since, v_until, v_tries
    from layover.setback w
   where w.run_id = run and w.path = note_setback.path and w.occurrence = note_setback.occurrence
     and w.turn = note_setback.turn;
  v_since := coalesce(v_since, v_now);
  if v_until is null or v_until <= v_now then
    v_tries := coalesce(v_tries, 0) + 1;
    v_wait := (array['1 minute', '10 minutes', '1 hour', '6 hours'])[v_tries]::interval;
    v_until := case when v_since + v_wait > v_now then v_since else v_now end + v_wait;
    v_until := date_trunc('minute', v_until + interval '59.999999 seconds');
  end if;
  if v_until is null then
    delete from layover.setback w
     where w.run_id = run and w.path = note_setback.path and w.occurrence = note_setback.occurrence;
    return (select v_now from layover.run_state t where t.run_id = run and layover.stops_at(t) <= v_now);
  end if;
  insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
    values (run, path, occurrence, note_setback.turn + 1, left(why, 2000), v_tries, v_since, v_until)
    on conflict on constraint setback_pkey do update
      set turn = excluded.turn, reason = excluded.reason, tries = excluded.tries, since = excluded.since,
          until = excluded.until;
  return v_until;
end $$;

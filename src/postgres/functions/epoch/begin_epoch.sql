-- over, parked or running -> parked and ready, at the beginning of the run's next epoch: its history is what is kept of the one before, and
-- nothing of what it waited for stands. Its caller has locked the run, and, unless it continues, its parent (lock_families). No lease stands
-- that may still record.
--
-- `kept`: the positions that are kept, in order. `next`: {"why", "input", "isInputParsed", "results", "by"}. Without `input` the run keeps
-- its input. A retry keeps the seeds, too: its steps may have had their effect. It also notes the ids of the runs that it may wait for again
-- (`runs`), since it asks for them at another time, and the time is a part of an id.
create or replace function layover.begin_epoch(run uuid, kept integer[], next jsonb, armed jsonb) returns json
language plpgsql volatile as $$
declare
  v_now      constant timestamptz := layover.now();
  v_why      constant text := next->>'why';
  v_count    constant integer := cardinality(kept);
  v_segments jsonb;
  v_last     jsonb;
  v_given    jsonb;
  v_ready    timestamptz := v_now;
  v_laps     integer := 0;
  v_turn     integer;
  v_others   json;
  v_bytes    bigint;
  v_newest   timestamptz;
  v_mail     boolean;
  v_closed   text[];
  v_ending   record;
  s          record;
  e          record;
begin
  select t.epoch, t.turn, t.ended_at into s from layover.run_state t where t.run_id = run;
  select x.input, x.is_input_parsed, x.began_at, x.laps into e from layover.epoch x where x.run_id = run and x.epoch = s.epoch;
  v_segments := layover.segments_of(run, s.epoch);
  if v_why = 'continued' then
    v_laps := layover.count_laps(run, s.epoch, coalesce(e.laps, 0), v_now);
    v_ready := greatest(v_now, case when v_laps > 0 then layover.from_ms((v_segments->0->>'at')::bigint)
      + least(60, 2 ^ (v_laps - 1)) * interval '1 second' end);
  else
    perform layover.untell_parent(run);
    perform layover.keep_timeout(run);
    perform layover.note_scheduled_run(run);
  end if;
  v_last := case when v_why = 'retried' then v_segments->-1 || jsonb_build_object('runs', array(
        select r.id from layover.children_of_retry(run, s.epoch, kept) r))
      else jsonb_build_object('run', run, 'epoch', s.epoch + 1) end
    || jsonb_build_object('at', layover.to_ms(v_ready), 'shift', layover.to_ms(v_now) - layover.to_ms(coalesce(s.ended_at, v_now)));
  v_given := layover.given_of(run, s.epoch, kept, next->'results', next->>'by');
  insert into layover.epoch (run_id, epoch, why, input, is_input_parsed, began_at, kept, segments, laps, before)
    select run, s.epoch + 1, v_why, coalesce(next->>'input', e.input),
        case when next ? 'input' then (next->>'isInputParsed')::boolean else coalesce(e.is_input_parsed, r.is_input_parsed) end,
        v_ready, v_count, layover.cut_segments(v_segments, kept, v_last), v_laps,
        nullif(case when v_why = 'retried' then layover.describe_before(run) else '{}' end
          || case when v_given is not null then jsonb_build_object('given', v_given) else '{}' end, '{}')
      from layover.run r where r.id = run;
  perform layover.copy_history(run, s.epoch, run, s.epoch + 1, kept, next->'results');
  if v_why = 'continued' then
    perform layover.forget_epochs(run, s.epoch);
  else
    perform layover.untake_mail(run, s.epoch, kept, layover.segments_of(run, s.epoch + 1));
  end if;
  select coalesce(sum(octet_length(h.value)), 0), max(h.recorded_at),
      array_agg(distinct regexp_replace(h.path, '^.*/', '')) filter (where h.kind = 'close' and substr(h.value, 2) = 'true')
    into v_bytes, v_newest, v_closed
    from layover.record h where h.run_id = run and h.epoch = s.epoch + 1;
  select h.position, jsonb_array_length(h.value::jsonb->'owed') as undos into v_ending
    from layover.record h where h.run_id = run and h.epoch = s.epoch + 1 and h.kind = 'ending';
  if s.turn = 1 then -- perhaps nobody has claimed it: its first claim takes what is kept in turn 1 only
    perform layover.take_kept(run);
  end if;
  v_mail := exists (select from layover.signal g where g.run_id = run and g.position is null)
    or exists (select from layover.callback k where k.run_id = run and k.position is null);
  v_others := layover.leave_children(run, null, armed, is_all => true);
  delete from layover.pending b where b.run_id = run;
  delete from layover.map m where m.run_id = run;
  delete from layover.setback w where w.run_id = run;
  update layover.run_state t
     set epoch = s.epoch + 1, status = 'parked', turn = t.turn + (v_why <> 'continued')::integer, token = null, leased_until = null,
         claims = 0, beginnings = 0, lost = 0, spared = 0, lost_token = null, dispatches = 0, is_interrupted = false, begun = null,
         last_position = v_count, handed_position = v_count - 1, history_bytes = v_bytes, last_record_at = greatest(v_ready, v_newest),
         has_pending = false, has_mail = v_mail, closed = v_closed, children = 0,
         ready_at = case when v_ready > v_now then v_ready else 'epoch' end,
         blocked = null, refused_by = null, paused_at = case when v_why = 'continued' then t.paused_at end,
         cancel_requested_at = null, cancel_reason = null, cancelled_position = null, is_closing = false,
         ending_position = v_ending.position, undos = v_ending.undos, failed_undos = null,
         ended_at = null, result = null, error = null, failure = null,
         timeout_at = case when v_why = 'continued' then t.timeout_at when v_ending.position is null
           then v_now + (select r.timeout_ms from layover.run r where r.id = run) * interval '1 millisecond' end,
         custom_status = case when v_why <> 'restarted' then t.custom_status end,
         finished_token = case when v_why = 'continued' then t.finished_token end, finished_answer = null
   where t.run_id = run;
  update layover.run_state t
     set due_at = case when layover.may_be_due(t) then layover.pick_due(armed, v_ready) end
   where t.run_id = run
   returning t.turn into v_turn;
  return json_build_object('turn', v_turn, 'readyAt', case when v_ready > v_now then layover.to_ms(v_ready) end,
    'others', v_others);
end $$;

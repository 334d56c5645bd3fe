-- Answers for which run a run that is over was waiting, after so many records of its history: one that it had started before the last of them
-- came. Its end is recorded later, or never came: then it is one that went on when this run ended, and that no race had lost by then. Null:
-- there is none.
create or replace function layover.find_open_child(run uuid, epoch integer, kept integer) returns jsonb
language plpgsql stable as $$
declare
  v_last constant timestamptz := (select h.recorded_at from layover.record h
    where h.run_id = run and h.epoch = find_open_child.epoch and h.position = kept);
  v_next constant timestamptz := (select h.recorded_at from layover.record h
    where h.run_id = run and h.epoch = find_open_child.epoch and h.position = kept + 1);
begin
  return (
    select jsonb_build_object('outcome', 'child_open', 'path', r.parent_path, 'occurrence', r.parent_occurrence)
      from layover.children_of(run) r join layover.run_state t on t.run_id = r.id join layover.run_state p on p.run_id = run
      left join layover.record h on h.run_id = run and h.epoch = find_open_child.epoch and h.kind = 'child'
        and h.path = r.parent_path and h.occurrence = r.parent_occurrence
     where r.created_at < v_last
       and case when h.position is not null then h.position > kept
         else coalesce(t.ended_at >= p.ended_at, true)
           and not (t.cancel_reason is not distinct from layover.why_left() and t.cancel_requested_at <= v_next
             and t.cancel_requested_at < p.ended_at and coalesce(t.cancel_requested_at < p.cancel_requested_at, true)) end
     order by r.id limit 1);
end $$;

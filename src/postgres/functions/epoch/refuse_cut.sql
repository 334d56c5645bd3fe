-- Answers why a history cannot be cut after so many records: the run has not come to that place, what is kept was undone in part, or the run
-- was closing there. Null: nothing forbids it.
create or replace function layover.refuse_cut(run uuid, epoch integer, kept integer) returns jsonb
language plpgsql stable as $$
declare
  v_undone constant text[] := array( -- an array, since a join of records by their paths may compare each with each
    select substr(u.path, 8) || '#' || u.occurrence from layover.record u
     where u.run_id = run and u.epoch = refuse_cut.epoch and starts_with(u.path, '[undo]/'));
  v_first  record;
begin
  if kept is null then
    return '{"outcome": "unknown_place"}';
  end if;
  select h.path, h.occurrence into v_first
    from layover.record h
   where h.run_id = run and h.epoch = refuse_cut.epoch and h.position <= kept and cardinality(v_undone) > 0
     and h.path || '#' || h.occurrence = any (v_undone)
   order by h.position limit 1;
  if found then
    return jsonb_build_object('outcome', 'compensated', 'path', v_first.path, 'occurrence', v_first.occurrence);
  elsif exists (select from layover.record h where h.run_id = run and h.epoch = refuse_cut.epoch and h.position <= kept
      and h.kind in ('cancellation', 'closing', 'ending')) then
    return '{"outcome": "closing"}';
  end if;
  return null;
end $$;

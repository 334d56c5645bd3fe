-- A branch: leased -> ready at its next try, or its run is blocked, when its turn made no progress. Its map does not wait for it
-- meanwhile. Its caller has locked the run and the branch. Answers when it is tried again; null: the run is blocked.
--
-- `armed` is null if a claim found this, since a claim arms nothing. Then the run stays due at its present instant if that is early
-- enough; otherwise it is due now, for the next tick.
create or replace function layover.set_back_branch(run uuid, path text, occurrence integer, why text, armed jsonb)
returns timestamptz
language plpgsql volatile as $$
declare
  v_now   constant timestamptz := layover.now();
  v_until timestamptz;
  v_need  timestamptz;
  v_left  integer;
  branch  record;
begin
  select b.turn, b.map, b.is_counted into branch from layover.pending b
   where b.run_id = run and b.path = set_back_branch.path and b.occurrence = set_back_branch.occurrence;
  v_until := layover.note_setback(run, path, occurrence, branch.turn, why);
  update layover.pending b
     set token = null, leased_until = null, turn = b.turn + 1, claims = 0,
         beginnings = case when v_until is null then 0 else b.beginnings end,
         lost = case when v_until is null then 0 else b.lost end,
         ready_at = coalesce(v_until, b.ready_at), is_counted = b.is_counted and v_until is null
   where b.run_id = run and b.path = set_back_branch.path and b.occurrence = set_back_branch.occurrence;
  if v_until is null then
    update layover.run_state t set blocked = why, due_at = null where t.run_id = run and t.ended_at is null;
    return null;
  end if;
  if branch.is_counted then
    update layover.map m set counted = m.counted - 1 where m.run_id = run and m.path = branch.map
     returning m.counted into v_left;
  end if;
  v_need := case when v_left = 0 then v_now else v_until end;
  update layover.run_state t
     set ready_at = case when v_left = 0 then 'epoch' else t.ready_at end,
         due_at = case when not layover.may_be_due(t) then null
           when armed is not null then least(t.due_at, layover.pick_due(armed, v_now))
           when t.due_at <= v_need then t.due_at else v_now end
   where t.run_id = run;
  return v_until;
end $$;

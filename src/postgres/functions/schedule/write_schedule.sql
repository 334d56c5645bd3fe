-- nothing -> scheduled, or another definition, when code declares a schedule or somebody makes or changes one. The caller has checked the
-- definition, and hands over the row as it has locked it. All its columns are null if there was none. Answers false, and does nothing, if
-- somebody has made a schedule of that name meanwhile.
--
-- A firing whose instant has passed, and which is only put off by its jitter, is not lost and not doubled by an edit: the new calendar counts
-- from before that instant, and never from before the last one that was fired.
--
-- If another deployment gets it (`by_owner`), the one that had it goes on declaring what it declares, and may get it back.
create or replace function layover.write_schedule(p jsonb, was layover.schedule, schedule text, by_owner text, given jsonb) returns boolean
language plpgsql volatile as $$
declare
  v_now    constant timestamptz := layover.now();
  v_is_new constant boolean := was.name is null;
  v        layover.schedule := was;
begin
  v.namespace := coalesce(p->>'namespace', 'default');
  v.name := schedule;
  if v.owner <> by_owner then
    v.declarations := coalesce(v.declarations, '{}') || jsonb_build_object(v.owner, v.definition);
  end if;
  v.declarations := nullif(v.declarations - coalesce(by_owner, ''), '{}');
  v.owner := by_owner;
  v.definition := given;
  v.workflow := given->>'workflow';
  v.version := (given->>'version')::integer;
  v.changed_at := v_now;
  if layover.why_stopped(was) is not null or layover.calendar_of(was.definition) <> layover.calendar_of(given) then
    v := layover.set_calendar(v, greatest(v.last_at, least(v_now, v.next_at - interval '1 millisecond')), p->'armed');
  else -- Of a workflow that is paused it is looked at no more. It may now start another one.
    v.due_at := coalesce(v.due_at, case when v.paused_at is null then layover.pick_due(p->'armed', v.fires_at) end);
  end if;
  if v_is_new then
    v.created_at := v_now;
    v.fired := 0;
    v.skipped := 0;
    v.skipped_in_row := 0;
    insert into layover.schedule select v.* on conflict do nothing;
  else
    update layover.schedule o
       set owner = v.owner, definition = v.definition, workflow = v.workflow, version = v.version, next_at = v.next_at,
         fires_at = v.fires_at, due_at = v.due_at, declarations = v.declarations, changed_at = v.changed_at
     where o.namespace = v.namespace and o.name = v.name;
  end if;
  return found;
end $$;

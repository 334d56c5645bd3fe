-- Does what a person asks (`verb`) to all runs that fit a filter (see find_runs), a page at a time, newest first.
--
-- pause, resume, cancel, terminate, signal: runs that are over are never meant, and only paused ones are resumed. `signal`: {"name",
-- "encodedPayload"}. retry: runs that failed. restart: `from` as in restart_run, and the filter names a status. delete: runs that are over;
-- others are refused, or asked to end if the call says `cancels`.
--
-- `callId` is a uuid of version 7. Its time fixes the set: runs that were created later are left out. Each run keeps the act under that very
-- id, so a page that comes again does nothing twice. `before` is the `next` of the page before; no `next`: this page was the last one.
--
-- With `dryRun` nothing is done: it tells how many runs of the page are in which status.
--
-- With `holds` the runs are those of one workflow, and are paused or resumed with it (pause_workflow, resume_workflow), as long as that
-- stays as it is. When they were created does not matter.
--
-- It locks run after run in the order of their ids, as every set does, and holds the locks until the page is done: 500 runs at most. Where
-- a verb locks also what they have started, its page is shorter (within_children).
--
-- From psql: select layover.operate_runs('{"verb": "pause", "filter": {"workflow": "order"}, "reason": "their API is down"}').
create or replace function layover.operate_runs(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_call    uuid := coalesce((p->>'callId')::uuid, layover.new_id());
  v_as_of   bigint := ('x' || translate(left(v_call::text, 13), '-', ''))::bit(48)::bigint + 1;
  v_verb    constant text := p->>'verb';
  v_limit   constant integer := coalesce((p->>'limit')::integer, 100);
  v_page    record;
  v_runs    uuid[];
  v_told    json[];
  v_doings  jsonb;
begin
  perform layover.check_isolation();
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  perform layover.check_environment(p);
  if v_verb is null or v_verb not in ('pause', 'resume', 'cancel', 'terminate', 'signal', 'retry', 'restart', 'delete')
    or v_limit not between 1 and 500 or substr(v_call::text, 15, 1) <> '7'
  then
    raise exception 'operate_runs needs a verb, a limit of 500 at most, and a callId of version 7 or none' using errcode = 'LO003',
      hint = 'select layover.operate_runs(''{"verb": "pause", "filter": {"workflow": "order"}}'')';
  end if;
  perform layover.check_filter(v_verb, p->'filter');
  if p ? 'holds' then
    select case when v_verb = 'pause' then q.call_id else v_call end, null into v_call, v_as_of
      from layover.workflow_pause q
     where q.namespace = coalesce(p->>'namespace', 'default') and q.workflow = p->'filter'->>'workflow'
       and v_verb = case when q.resumed_at is null then 'pause' else 'resume' end
       for share;
    if not found then -- somebody has resumed or paused the workflow meanwhile
      return json_build_object('callId', p->'callId', 'runs', 0, 'next', null, 'outcomes', '{}'::json, 'refused', '[]'::json);
    end if;
  end if;
  v_page := layover.find_runs(p->'filter' || jsonb_strip_nulls(jsonb_build_object(
    'namespace', coalesce(p->>'namespace', 'default'), 'limit', v_limit, 'walk', coalesce((p->>'walk')::integer, 2000), 'before', p->'before',
    'createdBefore', least((p->'filter'->>'createdBefore')::bigint, v_as_of),
    'isLive', case when v_verb not in ('retry', 'restart', 'delete') then true end, 'status', case when v_verb = 'retry' then 'failed' end,
    'isPaused', case when v_verb = 'resume' then true when p ? 'holds' then false end,
    'isHeld', case when v_verb = 'resume' and p ? 'holds' then true end)));
  v_runs := case when v_verb in ('cancel', 'terminate', 'restart') or p ? 'cancels' then layover.within_children(v_page.runs) else v_page.runs end;
  if coalesce((p->>'dryRun')::boolean, false) then
    v_doings := json_build_object('statuses', (
        select coalesce(json_object_agg(s.status, s.runs), '{}')
          from (select layover.run_status(t) as status, count(*) as runs
                  from layover.run_state t where t.run_id = any (v_runs) group by 1) as s),
      'runIds', v_runs[1:10]);
  else
    v_told := layover.operate_each(v_verb, p - 'filter' || jsonb_build_object('callId', v_call),
      array(select f.run from unnest(v_runs) as f (run) order by f.run));
    v_doings := layover.sum_up_answers(v_told);
    if v_verb = 'delete' then
      perform layover.forget_deliveries(coalesce(p->>'namespace', 'default'), array(
        select (o.answer->>'runId')::uuid from unnest(v_told) as o (answer) where o.answer->>'outcome' = 'deleted'));
    end if;
  end if;
  perform layover.check_armed(p);
  return jsonb_build_object('callId', v_call, 'runs', cardinality(v_runs), 'next', case
    when cardinality(v_runs) < cardinality(v_page.runs) then v_runs[cardinality(v_runs)]
    else coalesce(v_page.next, case when cardinality(v_runs) = v_limit then v_runs[v_limit] end) end) || v_doings;
end $$;

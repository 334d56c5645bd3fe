-- Notes what a deployment tells of itself, by `note`:
--   deployed  it is new here, or deployed again, with these versions, whose contracts have these signatures, and whose runs are kept so long. It may claim again what it has
--             refused before, and its next tick looks at all runs that are ready or blocked. `schedules`: what its code declares.
--             With `isStart` a process has begun, perhaps of an older build that is still there beside a newer one. That is no rollback: the
--             newer build keeps its schedules, until it is gone.
--             `declaresLater`: the build sends its schedules by further calls. The answer `declares` says whether it may.
--             `wakeAddress`: where others have it tick. Left out: it stays as it was.
--   declaring some of its `schedules`. Until all are there, it has declared nothing. If a newer build declares its own meanwhile, nothing
--             is done, and `schedules` is null in the answer.
--   declared  the last of them, with the `names` of all. What it declared before, and does not any more, is deleted.
--   looked    that tick has done its work. With `triedThrough` it had no room for all blocked runs, and the next tick goes on behind
--             that one.
--   seen      it still ticks.
--   left      its process ends. If another process of the same deployment goes on, its next tick says so.
-- A deployment without a name is of an earlier release, which knows no rows of deployments: `environment` keeps the last one of these.
create or replace function layover.note_deployment(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now  constant timestamptz := layover.now();
  v_note constant text := coalesce(p->>'note', 'looked');
  v_schedules jsonb; -- what became of them
  v_may_declare boolean;
  v_declares boolean;
begin
  if layover.find_mismatch(p) is not null then
    return json_build_object('outcome', case when p ? 'deploymentName' then 'wrong_environment' else 'noted' end);
  elsif not p ? 'deploymentName' then
    update layover.environment e set deployment = p->>'deployment', tried_through = (p->>'triedThrough')::uuid
     where e.namespace = p->>'namespace';
  elsif v_note = 'deployed' then
    -- If two builds are noted at once, the second waits here, and then finds what the first one has declared.
    perform pg_catalog.pg_advisory_xact_lock(7812091, pg_catalog.hashtext((p->>'namespace') || ' ' || (p->>'deploymentName')));
    v_may_declare := (p ? 'schedules' or p ? 'declaresLater') and (not coalesce((p->>'isStart')::boolean, false) or coalesce((p->>'isExclusive')::boolean, false)
      or not layover.is_superseded(p->>'namespace', p->>'deploymentName', p->>'deployment'));
    v_declares := v_may_declare and p ? 'schedules';
    insert into layover.deployment as d (namespace, name, id, versions, signatures, retention, wake_address, deployed_at, seen_at, has_declared, declared_at)
      values (p->>'namespace', p->>'deploymentName', p->>'deployment', p->'versions', p->'signatures', p->'retention', p->>'wakeAddress', v_now, v_now,
        v_declares, case when v_may_declare then v_now end)
      on conflict (namespace, name, id) do update
        set versions = excluded.versions, signatures = excluded.signatures, retention = coalesce(excluded.retention, d.retention), wake_address = coalesce(excluded.wake_address, d.wake_address), deployed_at = v_now, seen_at = v_now,
          looked_at = null, tried_through = null, has_declared = excluded.has_declared,
          declared_at = case when (p ? 'schedules' or p ? 'declaresLater') and not v_may_declare then d.declared_at else excluded.declared_at end;
    delete from layover.deployment d
     where d.namespace = p->>'namespace' and d.name = p->>'deploymentName' and d.id in (
       select o.id from layover.deployment o where o.namespace = d.namespace and o.name = d.name
        order by o.deployed_at desc, o.id offset 10);
    if coalesce((p->>'isExclusive')::boolean, false) then -- this process alone uses the database: all other deployments are gone
      delete from layover.deployment d
       where d.namespace = p->>'namespace' and (d.name, d.id) <> (p->>'deploymentName', p->>'deployment');
    end if;
    if v_declares then
      v_schedules := layover.declare_schedules(p);
    end if;
    -- A rollback may bring back code of an earlier release. To that code this was another deployment.
    update layover.environment e set deployment = null, tried_through = null
     where e.namespace = p->>'namespace' and e.deployment is not null;
  elsif v_note in ('declaring', 'declared') then
    perform pg_catalog.pg_advisory_xact_lock(7812091, pg_catalog.hashtext((p->>'namespace') || ' ' || (p->>'deploymentName')));
    update layover.deployment d set has_declared = v_note = 'declared', seen_at = v_now
     where d.namespace = p->>'namespace' and d.name = p->>'deploymentName' and d.id = p->>'deployment'
       and d.declared_at is not null and not exists (
         select from layover.deployment o where o.namespace = d.namespace and o.name = d.name and o.declared_at > d.declared_at);
    if found then
      v_schedules := layover.declare_schedules(p);
    end if;
  else
    update layover.deployment d
       set looked_at = case when v_note = 'looked' and not p ? 'triedThrough' then v_now else d.looked_at end,
           tried_through = case when v_note = 'looked' then (p->>'triedThrough')::uuid else d.tried_through end,
           wake_address = coalesce(p->>'wakeAddress', d.wake_address),
           seen_at = case when v_note = 'left' then '-infinity' else v_now end
     where d.namespace = p->>'namespace' and d.name = p->>'deploymentName' and d.id = p->>'deployment';
  end if;
  perform layover.check_armed(p);
  return json_build_object('outcome', 'noted', 'schedules', v_schedules, 'declares', v_may_declare);
end $$;

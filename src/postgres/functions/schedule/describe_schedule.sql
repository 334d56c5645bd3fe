-- Answers what people see of a schedule.
create or replace function layover.describe_schedule(v layover.schedule) returns json
language plpgsql stable as $$
begin
  return json_build_object('name', v.name, 'owner', v.owner, 'definition', v.definition, 'nextAt', layover.to_ms(v.next_at),
    'firesAt', layover.to_ms(v.fires_at), 'dueAt', layover.to_ms(v.due_at), 'pausedAt', layover.to_ms(v.paused_at),
    'pausedBy', v.paused_by, 'pausedReason', v.paused_reason, 'lastAt', layover.to_ms(v.last_at),
    'lastFiredAt', layover.to_ms(v.last_fired_at), 'lastRunId', v.last_run_id, 'fired', v.fired, 'skipped', v.skipped,
    'skippedInRow', v.skipped_in_row, 'lastSkip', v.last_skip, 'rivalOwner', layover.list_declarers(v, false)->>0,
    'alsoDeclaredBy', layover.list_declarers(v, true), 'stoppedBecause', layover.why_stopped(v),
    'isCarried', exists (
      select from layover.live_deployments(v.namespace) as l where l.versions->v.workflow @> to_jsonb(v.version)),
    'ownerIsLive', v.owner is null or exists (
      select from layover.live_deployments(v.namespace) as l where l.name = v.owner),
    'workflowIsPaused', exists (select from layover.workflow_pause q
      where q.namespace = v.namespace and q.workflow = v.workflow and q.resumed_at is null),
    'createdAt', layover.to_ms(v.created_at), 'changedAt', layover.to_ms(v.changed_at));
end $$;

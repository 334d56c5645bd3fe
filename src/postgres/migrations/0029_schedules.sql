-- Schedules: they start runs at instants that a calendar names.
create table layover.schedule (
  namespace      text not null,
  name           text not null,
  owner          text,                  -- the name of the deployment whose code declares it; null: it was made at run time
  definition     jsonb not null,        -- what was declared; see check_schedule
  workflow       text not null,         -- as in the definition
  version        integer not null,
  next_at        timestamptz,           -- the next instant of the calendar; null: none is left
  fires_at       timestamptz,           -- that instant and its jitter
  due_at         timestamptz,           -- when the scheduler looks at it
  last_at        timestamptz,           -- the last instant that was fired or skipped
  last_fired_at  timestamptz,
  last_run_id    uuid,                  -- the run that it started last
  fired          bigint not null default 0,
  skipped        bigint not null default 0,
  skipped_in_row integer not null default 0,
  last_skip      jsonb,                 -- {"cause", "at", "runId", "reason"}
  paused_at      timestamptz,
  paused_by      text,
  paused_reason  text,
  rival          jsonb,                 -- {"owner", "definition"}: what another deployment declares under this name
  created_at     timestamptz not null,
  changed_at     timestamptz not null,
  primary key (namespace, name),
  check ((next_at is null) = (fires_at is null)),
  check (due_at is null or (fires_at is not null and paused_at is null))
);
create index schedule_due on layover.schedule (namespace, due_at, name) where due_at is not null;
create index schedule_of_workflow on layover.schedule (namespace, workflow);

-- Whether a build has said which schedules it declares. It says so in its first tick.
alter table layover.deployment add column has_declared boolean not null default false;

-- Of a run that a schedule started: {"schedule", "at", "firedAt", "computesInput"}.
alter table layover.run add column scheduled jsonb;

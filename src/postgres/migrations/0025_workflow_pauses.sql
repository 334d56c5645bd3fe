-- Workflows that people have paused: their new starts are held. One row each, the latest pause.
create table layover.workflow_pause (
  namespace      text not null,
  workflow       text not null,
  call_id        uuid not null,       -- of the pause: the same call again does nothing
  asked_by       text,
  reason         text,
  paused_at      timestamptz not null,
  resumed_at     timestamptz,         -- null: it is paused
  resume_call_id uuid,                -- of the last resume
  primary key (namespace, workflow)
);

alter table layover.run_state add column is_held boolean not null default false; -- it was paused with its workflow

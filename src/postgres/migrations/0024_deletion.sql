-- Runs that people have deleted. A start that comes late, or again, must not make such a run anew.
create table layover.deletion (
  namespace  text not null,
  run_id     uuid not null,
  asked_by   text,                  -- who asked, as they name themselves
  reason     text,
  deleted_at timestamptz not null,
  primary key (namespace, run_id)
);
create index deletion_kept on layover.deletion (namespace, deleted_at); -- for prune_runs

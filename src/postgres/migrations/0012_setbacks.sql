-- Why a run, or one of its branches, could not go on although its code may be right, and when it is tried again. A row counts
-- only while `turn` is the next turn, or the one under way: so the finish of that turn ends it, and writes nothing here.

create table layover.setback (
  run_id     uuid not null,
  path       text not null,                 -- of the branch; empty: the run itself
  occurrence integer not null,
  turn       integer not null,              -- the turn that tries again
  reason     text not null,
  tries      smallint not null,             -- which try comes next, from 1
  since      timestamptz not null,          -- when it happened first
  until      timestamptz not null,          -- when it is tried again
  primary key (run_id, path, occurrence)
);

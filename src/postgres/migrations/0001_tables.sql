-- The tables. What they mean and how rows move: ../README.md.
--
-- run is written once; run_state moves with every turn and so is narrow, and changes no indexed column while a run
-- is in motion (heap-only updates: about 600 WAL bytes a step against 1,600 to 3,800 with wide, indexed rows).
-- No foreign keys: each would lock and log the parent row at every step. delete_rows removes a run's rows together.

-- Which deployment environment this database belongs to, and the address at which it was first used.
-- A copy of the database keeps this row and has another address, so nothing is carried out in it until it is adopted.
create table layover.environment (
  namespace  text primary key,
  name       text not null,
  endpoint   text not null,
  adopted_at timestamptz not null
);

create table layover.run (
  id                uuid primary key,
  namespace         text not null,
  workflow          text not null,
  version           integer not null check (version > 0),
  user_id           text,                     -- the user's own id of the run
  input             text not null,            -- every stored value starts with its codec's mark
  is_input_parsed   boolean not null,         -- false: started from SQL, checked against the schema in its first turn
  parent_run_id     uuid,
  parent_path       text,
  parent_occurrence integer,
  traceparent       text,
  created_at        timestamptz not null,
  commit_by         timestamptz               -- a start inside the caller's transaction may not commit later
);

create unique index run_user_id on layover.run (namespace, workflow, user_id) where user_id is not null;
create index run_workflow on layover.run (namespace, workflow, id);

-- Columns that a turn changes stand side by side: an update in place logs only the span between the first changed
-- byte and the last.
create table layover.run_state (
  run_id              uuid primary key,
  namespace           text not null,
  timeout_at          timestamptz,
  status              text not null check (status in ('parked', 'running', 'completed', 'failed', 'cancelled')),
  epoch               integer not null default 0,
  turn                integer not null default 1,   -- the turn under way, or the next one
  last_position       integer not null default 0,   -- of the history
  handed_position     integer not null default -1,  -- up to which the handler was run on; -1: not at all
  claims              smallint not null default 0,  -- lone claims that were not finished
  dispatches          smallint not null default 0,  -- by the tick, and not claimed since
  history_bytes       integer not null default 0,
  has_pending         boolean not null default false, -- false: it has no pending row
  has_mail            boolean not null default false, -- false: no signal and no answer that nobody has taken
  last_record_at      timestamptz not null,
  token               uuid,                         -- the lease
  leased_until        timestamptz,
  ready_at            timestamptz,
  due_at              timestamptz,
  finished_token      uuid,                         -- the lease that was finished last, and what it was told
  finished_answer     text,
  blocked             text,                         -- why; the right code unblocks it
  paused_at           timestamptz,
  cancel_requested_at timestamptz,
  cancel_reason       text,
  cancelled_position  integer,                      -- the cancellation's place in the history
  custom_status       text,
  ended_at            timestamptz,
  result              text,
  error               text,
  check ((status = 'running') = (token is not null)),
  check ((token is null) = (leased_until is null)),
  check ((status in ('completed', 'failed', 'cancelled')) = (ended_at is not null)),
  check (due_at is null or (ended_at is null and paused_at is null and blocked is null)),
  check (ended_at is null or ready_at is null),
  check (result is null or status = 'completed'),
  check ((error is not null) = (status in ('failed', 'cancelled')))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.5);

create index run_state_due on layover.run_state (namespace, due_at) where due_at is not null;
create index run_state_ended on layover.run_state (namespace, ended_at) where ended_at is not null;

-- The history: append-only, positions dense from 1.
create table layover.record (
  run_id     uuid not null,
  epoch      integer not null,
  position   integer not null,
  occurrence integer not null,
  attempts   smallint not null default 1,
  is_failure boolean not null,               -- the value is an error
  recorded_at timestamptz not null,          -- the time that the handler sees
  began_at   timestamptz,
  kind       text not null check (kind in ('step', 'sleep', 'signal', 'callback', 'cancellation')),
  path       text not null,
  value      text,                           -- null: a wait that ended by its timeout, a sleep
  primary key (run_id, epoch, position)
);

-- What a run waits for: branches, an inline step between its attempts, sleeps and waits. A branch whose record is
-- in the history but was not handed out yet keeps its row (with that position), so that a repeated finish is answered.
create table layover.pending (
  run_id          uuid not null,
  path            text not null,
  occurrence      integer not null,
  kind            text not null check (kind in ('branch', 'retry', 'sleep', 'signal', 'callback')),
  demanded_after  integer not null,
  signal          text,                             -- the name that a wait for a signal takes
  until           timestamptz,                      -- a sleep's end, a wait's deadline
  map             text,                             -- the map that the branch belongs to
  ordinal         integer not null,                 -- order of demand
  turn            integer not null default 1,       -- a branch's own turns
  attempts        smallint not null default 0,      -- that failed
  claims          smallint not null default 0,
  dispatches      smallint not null default 0,
  is_queued       boolean not null default false,   -- waits for one of its map's slots
  is_counted      boolean not null default false,   -- its map waits for it
  is_released     boolean not null default false,   -- lost a race: no new claim, but a live lease may record
  ready_at        timestamptz,
  token           uuid,
  leased_until    timestamptz,
  finished_token  uuid,
  finished_answer text,
  position        integer,
  primary key (run_id, path, occurrence),
  check ((token is null) = (leased_until is null)),
  check (kind = 'branch' or token is null),
  check ((kind = 'signal') = (signal is not null)),
  check (kind <> 'sleep' or until is not null),
  check (is_queued = false or (kind = 'branch' and map is not null and token is null))
) with (fillfactor = 70);

create index pending_queue on layover.pending (run_id, map, ordinal) where is_queued;

-- One row a map that is under way: how many of its branches it waits for, and its free slots.
create table layover.map (
  run_id uuid not null,
  path   text not null,
  counted integer not null,
  slots  integer,                                   -- null: unbounded
  fails_fast boolean not null,                      -- the first failure continues the run at once
  primary key (run_id, path)
) with (fillfactor = 50);

-- Attempts that failed. (The one that succeeded is its record.)
create table layover.attempt (
  run_id     uuid not null,
  epoch      integer not null,
  path       text not null,
  occurrence integer not null,
  number     integer not null,
  began_at   timestamptz not null,
  ended_at   timestamptz not null,
  error      text not null,
  request_id text,                                  -- the platform's, to find its logs
  primary key (run_id, epoch, path, occurrence, number)
);

create table layover.signal (
  run_id      uuid not null,
  number      bigint generated always as identity,  -- arrival order: drawn under the run's lock
  id          uuid not null,                        -- the call that sent it
  dedupe_id   text,
  name        text not null,
  payload     text not null,
  is_parsed   boolean not null,                     -- false: sent from SQL
  received_at timestamptz not null,
  position    integer,                              -- of the record that took it
  primary key (run_id, id)
);

create unique index signal_dedupe on layover.signal (run_id, name, dedupe_id) where dedupe_id is not null;
create index signal_untaken on layover.signal (run_id, number) where position is null;

-- Answers to callbacks; also kept before the wait is recorded, and after its end, to answer a second one.
create table layover.callback (
  run_id      uuid not null,
  epoch       integer not null,
  path        text not null,
  occurrence  integer not null,
  outcome     text not null check (outcome in ('resolved', 'rejected', 'expired')),
  value       text,
  answered_at timestamptz not null,
  position    integer,                              -- of the record that took it
  primary key (run_id, epoch, path, occurrence),
  check ((value is null) = (outcome = 'expired')),
  check (outcome <> 'expired' or position is not null)
);

create index callback_untaken on layover.callback (run_id) where position is null;

create table layover.tag (
  run_id    uuid not null,
  namespace text not null,
  name      text not null,
  value     text not null,
  primary key (run_id, name)
);

create index tag_value on layover.tag (namespace, name, value, run_id);

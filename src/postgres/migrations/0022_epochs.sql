-- Histories of a run after its first one: it continued as new, or somebody restarted, retried or forked it. Epoch 0 has no row.
create table layover.epoch (
  run_id          uuid not null,
  epoch           integer not null,
  why             text not null check (why in ('continued', 'restarted', 'retried', 'forked')),
  input           text,                          -- null: the run's own
  is_input_parsed boolean not null,
  began_at        timestamptz not null,          -- when its first turn could begin
  kept            integer not null default 0,    -- how many records it began with
  -- [{"from", "at", "run", "epoch", "shift"}, …]: what is asked for beyond the position `from` reckons from the instant `at`, and draws
  -- from the seed of that run and epoch. What was asked for before and still waits, waits longer by `shift` (milliseconds).
  segments        jsonb not null,
  before          jsonb,                         -- of a retry: the state, and the mail that was taken, if it has to be taken back
  laps            smallint not null default 0,   -- how many in a row continued as new at once
  primary key (run_id, epoch)
);

alter table layover.signal add column taken_epoch integer not null default 0;  -- of the record that took it
alter table layover.pending add column callback_epoch integer;                 -- of a callback's URL. null: that of the run
alter table layover.run add column timeout_ms bigint;                          -- what the contract allowed. Runs of earlier releases have none
-- What failed a run: {"at", "timeouts", "repeats"}, positions and places. null: nobody has told.
alter table layover.run_state add column failure jsonb;

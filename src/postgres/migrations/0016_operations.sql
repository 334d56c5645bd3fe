-- What people have done to runs. The call's id makes the same call again do nothing, and answer the same.
create table layover.operation (
  run_id   uuid not null,
  call_id  uuid not null,
  verb     text not null,
  asked_by text,                  -- who asked, as they name themselves
  reason   text,
  asked_at timestamptz not null,
  verdict  text not null,         -- json: what the call was told
  primary key (run_id, call_id)
);

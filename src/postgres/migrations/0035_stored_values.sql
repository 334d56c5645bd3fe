-- Values that are kept in a store of the user's (layover/store), one row for each run that may hold one. A row is written before the value, so
-- no value is in the store that no row names. Runs without such values have no rows here.
create table layover.stored_value (
  namespace text not null,
  key       text not null,        -- where the store keeps it
  run_id    uuid not null,        -- it may not have begun yet
  bytes     bigint not null,
  look_at   timestamptz,          -- when to look whether the run is there; null: it is, and look again when it is deleted
  primary key (run_id, key)
);
create index stored_value_key on layover.stored_value (key);
create index stored_value_look on layover.stored_value (namespace, look_at) where look_at is not null;

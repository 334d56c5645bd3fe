-- API keys that were made or revoked by the command line. Never the key itself: it verifies itself by its MAC, so what
-- is asked here is only whether it was revoked.

create table layover.api_key (
  namespace  text not null,
  id         uuid not null,                 -- stands in the key
  name       text,                          -- null: made elsewhere, and known here since it was revoked
  scopes     text[],
  created_at timestamptz,
  expires_at timestamptz,                   -- null: never
  revoked_at timestamptz,
  primary key (namespace, id),
  check ((name is null) = (created_at is null) and (name is null) = (scopes is null)),
  check (name is not null or revoked_at is not null)
);

-- For whoever asks which runs are blocked. A turn leaves `blocked` as it is, so its update stays in place.
create index run_state_blocked on layover.run_state (namespace, run_id) where blocked is not null;

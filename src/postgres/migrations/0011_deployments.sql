-- Which deployments there are: several may be alive at once, as in a rolling deploy, a canary or with two clouds. And which of
-- them have refused a run, because their code does not fit its history.

create table layover.deployment (
  namespace     text        not null,
  name          text        not null,  -- of the host or stack: its deployments replace each other
  id            text        not null,  -- of the build: each process of the same code says the same
  versions      jsonb       not null,  -- the versions of each workflow that it carries
  wake_address  text,                  -- where others can have it tick; null: nowhere
  deployed_at   timestamptz not null,
  seen_at       timestamptz not null,  -- a tick of it was noted, at most once an hour
  looked_at     timestamptz,           -- since it was deployed it has looked at all that is ready or blocked; null: not yet
  tried_through uuid,                  -- up to where it has had blocked runs tried again, before that
  primary key (namespace, name, id)
);

-- By the id of a deployment: when it refused the run ("at", in epoch milliseconds) and why ("why").
alter table layover.run_state add column refused_by jsonb;

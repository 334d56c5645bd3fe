-- What senders have delivered to webhooks, and what became of it. A delivery that comes again does nothing.
create table layover.delivery (
  namespace   text not null,
  webhook     text not null,
  id          text not null,        -- the sender's, or a digest of the body
  body_mac    text,                 -- tells a body that comes again under another id; for 96 hours
  outcome     text not null check (outcome in ('done', 'refused', 'failed', 'expired')),
  reason      text,                 -- why it was not carried out
  deeds       text not null,        -- json: what each deed did
  headers     text,                 -- json: as they came, without those that hold keys
  event       text,                 -- json: what was delivered; for a week
  attempts    integer not null,     -- how often it was carried out or refused
  received_at timestamptz not null, -- the first time
  decided_at  timestamptz not null, -- the last time
  replays     text,                 -- json: who had it carried out again, when and why
  primary key (namespace, webhook, id),
  check ((outcome = 'done') = (reason is null))
);
create unique index delivery_body on layover.delivery (namespace, webhook, body_mac) where body_mac is not null;
create index delivery_listed on layover.delivery (namespace, received_at, webhook, id);
create index delivery_of_webhook on layover.delivery (namespace, webhook, received_at, id);
create index delivery_not_done on layover.delivery (namespace, received_at, webhook, id) where outcome <> 'done';
create index delivery_with_event on layover.delivery (namespace, received_at) where event is not null;

-- Signals of deliveries to runs that are not there yet. The first claim of such a run takes them.
create table layover.kept_signal (
  namespace  text not null,
  workflow   text not null,
  user_id    text not null,
  number     bigint generated always as identity, -- order of arrival
  id         uuid not null,                       -- the signal's
  webhook    text not null,
  delivery   text not null,
  dedupe_id  text,
  name       text not null,
  payload    text not null,
  kept_at    timestamptz not null,
  due_at     timestamptz not null,                -- when the scheduler looks at it
  expires_at timestamptz not null,
  primary key (namespace, workflow, user_id, number)
);
create index kept_signal_due on layover.kept_signal (namespace, due_at);
create index kept_signal_of_delivery on layover.kept_signal (namespace, webhook, delivery);

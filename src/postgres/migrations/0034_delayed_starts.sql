-- When a run begins that was started with a delay: what it waits for reckons from then. Null: it begins when it is created.
alter table layover.run add column starts_at timestamptz;

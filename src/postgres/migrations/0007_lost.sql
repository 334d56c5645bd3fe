-- How many leases in a row ended without a finish. One death takes all that its process had at work, so whoever lost one
-- lease is tried again beside others, and whoever lost several in smaller and smaller groups.

alter table layover.run_state
  add column lost       smallint not null default 0, -- leases in a row that another claim followed
  add column spared     smallint not null default 0, -- of these, whose holder was alive after all; means nothing while lost is 0
  add column lost_token uuid;                        -- the last one of these leases
alter table layover.pending
  add column lost       smallint not null default 0,
  add column spared     smallint not null default 0,
  add column lost_token uuid;

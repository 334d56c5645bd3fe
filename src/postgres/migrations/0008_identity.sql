-- Which server and database a namespace belongs to, whatever the address: a restored copy may stand behind the same name.
-- And the further addresses that lead to it, beside the one at which it was adopted.

alter table layover.environment
  add column identity        text,                          -- null: written by a release that did not know it
  add column other_endpoints text[] not null default '{}';

-- Which deployment has ticked last, so that the next one's first tick can tell that it is new; and up to where it has had
-- blocked runs tried again, while there are more than a tick has room for.

alter table layover.environment
  add column deployment    text,  -- null: none has
  add column tried_through uuid;  -- null: all

-- Which deployment has ticked last, so that the next one's first tick can tell that it is new.

alter table layover.environment add column deployment text;  -- null: none has

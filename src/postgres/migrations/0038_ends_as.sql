-- How a run ends that closes: {"next", "value", "failure"}, as the finish said when its handler had ended. Code that is deployed later may not
-- come to that end any more, and the run ends so all the same. Null: it does not close, its history says it (`ending`), or a release before
-- this one has closed it.
alter table layover.run_state add column ends_as jsonb;

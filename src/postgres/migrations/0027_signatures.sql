-- What the schemas of a contract said when a run was started, and what those of each deployment say. Null: code of an earlier release has
-- started the run, or somebody from psql.
alter table layover.run add column signature text;
alter table layover.deployment add column signatures jsonb; -- by workflow and version

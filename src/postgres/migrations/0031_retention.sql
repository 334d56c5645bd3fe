-- How long runs are kept that are over, by workflow and outcome, as the code of a build says: {"order": {"completed": 604800000, …}}, in
-- milliseconds. Null: code of an earlier release, or no workflow has a rule.
alter table layover.deployment add column retention jsonb;

-- How far the runs that are over were looked at, for each time that runs are kept. See prune_walk.sql.
create table layover.pruning (
  namespace    text not null,
  rules        text not null,        -- a digest of all rules: other rules begin from the first run
  keep_ms      bigint not null,
  pruned_until timestamptz not null, -- of the runs that ended until then, none is left that this rule deletes
  began_at     timestamptz not null, -- when the walk was at the first run
  primary key (namespace, rules, keep_ms)
);

-- Answers what a replay of a run needs (describe_replay says what), and writes nothing: the role reader may call it.
--
-- From psql: select layover.read_replay('{"runId": "…"}').
create or replace function layover.read_replay(p jsonb) returns json
language sql volatile as $$
  select layover.check_key(p) where p ? 'keyId';
  select coalesce(layover.describe_replay(layover.find_run(p), p), json_build_object('outcome', 'unknown'))
$$;

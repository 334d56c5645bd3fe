-- Lists the runs of a namespace that are not over, newest first, a page at a time, for those who want to replay them. `before` is the last
-- id of the page before. `digest` is the same for two runs whose histories have the same places in the same order, and that wait for
-- the same: what fits one of them fits the other, unless values decide.
--
-- The keys of the filter: workflow, version. `next` is null on the last page. It writes nothing: the role reader may call it.
create or replace function layover.list_parked(p jsonb) returns json
language sql volatile as $$
  select layover.check_key(p) where p ? 'keyId';
  with page as materialized (
    select t.run_id, t.epoch, t.last_position, t.handed_position
      from layover.run_state t
     where t.namespace = coalesce(p->>'namespace', 'default') and t.ended_at is null
       and t.run_id < coalesce((p->>'before')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
     order by t.run_id desc limit coalesce((p->>'limit')::integer, 500)
  )
  select json_build_object('runs', coalesce((
      select json_agg(json_build_object('runId', t.run_id, 'workflow', r.workflow, 'version', r.version, 'digest', md5(concat_ws(E'\n',
          t.handed_position >= t.last_position, (
            select string_agg(concat_ws(' ', h.kind, h.occurrence, h.is_failure, h.path), E'\n' order by h.position)
              from layover.record h where h.run_id = t.run_id and h.epoch = t.epoch), '', (
            select string_agg(concat_ws(' ', b.kind, b.occurrence, b.is_released, b.path), E'\n' order by b.ordinal, b.path)
              from layover.pending b where b.run_id = t.run_id), '', (
            select string_agg(concat_ws(' ', x.position, x.path), E'\n' order by x.position, x.path)
              from layover.patch x where x.run_id = t.run_id and x.epoch = t.epoch)))) order by t.run_id desc)
        from page t join layover.run r on r.id = t.run_id
       where (not p ? 'workflow' or r.workflow = p->>'workflow') and (not p ? 'version' or r.version = (p->>'version')::integer)), '[]'),
    'next', case when (select count(*) from page) = coalesce((p->>'limit')::integer, 500)
      then (select t.run_id from page t order by t.run_id limit 1) end)
$$;

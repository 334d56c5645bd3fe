-- Lists the runs of a namespace that are not over and fit a filter (see find_runs), newest first, a page at a time, for those who want to
-- replay them. `before` is the `next` of the page before; it is null on the last page. `digest` is the same for two runs whose
-- histories have the same places in the same order, and that wait for the same: what fits one of them fits the other, unless values decide.
--
-- `isFiltered` says that the whole filter counted: in earlier releases only workflow and version did. It writes nothing: the role reader may call it.
create or replace function layover.list_parked(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_limit constant integer := coalesce((p->>'limit')::integer, 500);
  v_page  record;
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  v_page := layover.find_runs(p || jsonb_build_object(
    'namespace', coalesce(p->>'namespace', 'default'), 'isLive', true, 'limit', v_limit, 'walk', 10 * v_limit));
  return json_build_object('isFiltered', true, 'runs', coalesce((
      select json_agg(json_build_object('runId', t.run_id, 'workflow', r.workflow, 'version', r.version, 'digest', md5(concat_ws(E'\n',
          t.handed_position >= t.last_position, (
            select string_agg(concat_ws(' ', h.kind, h.occurrence, h.is_failure, h.path), E'\n' order by h.position)
              from layover.record h where h.run_id = t.run_id and h.epoch = t.epoch), '', (
            select string_agg(concat_ws(' ', b.kind, b.occurrence, b.is_released, b.path), E'\n' order by b.ordinal, b.path)
              from layover.pending b where b.run_id = t.run_id), '', (
            select string_agg(concat_ws(' ', x.position, x.path), E'\n' order by x.position, x.path)
              from layover.patch x where x.run_id = t.run_id and x.epoch = t.epoch)))) order by t.run_id desc)
        from layover.run_state t join layover.run r on r.id = t.run_id where t.run_id = any (v_page.runs)), '[]'),
    'next', coalesce(v_page.next, case when cardinality(v_page.runs) = v_limit then v_page.runs[v_limit] end));
end $$;

-- Answers the schedules of a namespace, or of one `workflow`, by name, a page at a time: up to `limit` of them that come `after` a name.
create or replace function layover.list_schedules(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_limit constant integer := least(coalesce((p->>'limit')::integer, 100), 500);
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  return (
    select json_build_object('now', layover.to_ms(layover.now()),
        'schedules', coalesce(json_agg(layover.describe_schedule(q.v) order by q.rank) filter (where q.rank <= v_limit), '[]'),
        'hasMore', count(*) > v_limit)
      from (
        select v, row_number() over (order by v.name) as rank
          from layover.schedule v
         where v.namespace = coalesce(p->>'namespace', 'default') and v.name > coalesce(p->>'after', '')
           and (p->>'workflow' is null or v.workflow = p->>'workflow')
         order by v.name limit v_limit + 1
      ) as q);
end $$;

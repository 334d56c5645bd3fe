-- Runs of a namespace, newest first, a page at a time; `before` is the last id of the page ahead.
create or replace function layover.list_runs(p jsonb) returns json
language sql volatile as $$
  select json_build_object('runs', coalesce(json_agg(layover.describe(l.id, 16384, 16384) order by l.id desc), '[]'))
    from (
      select r.id
        from layover.run r join layover.run_state s on s.run_id = r.id
       where r.namespace = p->>'namespace'
         and (not p ? 'workflow' or r.workflow = p->>'workflow')
         and (not p ? 'before' or r.id < (p->>'before')::uuid)
         and (not p ? 'status' or layover.run_status(s) = p->>'status')
         and not exists (
           select from jsonb_each_text(coalesce(p->'tags', '{}')) as q (name, value)
            where not exists (select from layover.tag t
              where t.run_id = r.id and t.name = q.name and t.value = q.value))
       order by r.id desc
       limit (p->>'limit')::integer
    ) as l
$$;

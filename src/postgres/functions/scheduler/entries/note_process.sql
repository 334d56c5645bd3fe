-- Lists a process, or takes it off the list (`isLeaving`), and answers the other processes of its environment.
--
-- `gone` names processes that it has not reached for minutes. They are struck, unless they wrote their row within the last `silentMs`: a
-- living process that cannot reach another one writes its row each minute.
--
-- It locks its own row before those of others, and does not wait for theirs: two processes may strike each other.
create or replace function layover.note_process(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_now  constant timestamptz := layover.now();
  v_self constant uuid := (p->>'id')::uuid;
begin
  if layover.find_mismatch(p) is not null then -- otherwise the processes of a copy would call those of the original
    return json_build_object('now', layover.to_ms(v_now), 'others', '[]'::json);
  end if;
  if coalesce((p->>'isLeaving')::boolean, false) then
    delete from layover.process c where c.namespace = p->>'namespace' and c.id = v_self;
  else
    insert into layover.process (namespace, id, environment, door, versions, seen_at)
      values (p->>'namespace', v_self, p->>'environment', p->>'door', (p->'versions')::json, v_now)
      on conflict (namespace, id) do update
        set environment = excluded.environment, door = excluded.door, versions = excluded.versions,
          seen_at = excluded.seen_at;
  end if;
  delete from layover.process c
   using (
     select o.id from layover.process o
      where o.namespace = p->>'namespace'
        and o.id in (select e.id::uuid from jsonb_array_elements_text(p->'gone') as e (id))
        and o.seen_at < v_now - (p->>'silentMs')::integer * interval '1 millisecond'
      for update skip locked
   ) as s
   where c.namespace = p->>'namespace' and c.id = s.id;
  perform layover.check_time(p);
  return json_build_object('now', layover.to_ms(v_now), 'others', coalesce((
    select json_agg(json_build_object('id', c.id, 'door', c.door, 'versions', c.versions) order by c.id)
      from layover.process c
     where c.namespace = p->>'namespace' and c.environment = p->>'environment' and c.id <> v_self), '[]'));
end $$;

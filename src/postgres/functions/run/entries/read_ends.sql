-- Answers how other runs have ended that a claimed run has invoked (`runIds`), to the holder of its lease, the earliest first: as many as have
-- 1 MiB together, at least one. `isMore`: there are more of them. A run that is not over, or is deleted, is left out. A value that a store keeps
-- is held by the claimed run from now on.
create or replace function layover.read_ends(p jsonb) returns json
language plpgsql volatile as $$
declare
  v_run  constant uuid := (p->>'runId')::uuid;
  v_ends json;
begin
  if not exists (select from layover.run_state t
    where t.run_id = v_run and t.namespace = p->>'namespace' and t.token = (p->>'token')::uuid)
  then
    return json_build_object('outcome', 'superseded', 'now', layover.to_ms(layover.now()));
  end if;
  with ended as (
    select t.run_id, t.status, coalesce(t.result, t.error) as value, row_number() over earliest as place,
        sum(octet_length(coalesce(t.result, t.error)) + 200) over earliest as bytes
      from layover.run_state t join layover.run r on r.id = t.run_id
     where t.run_id = any (array(select jsonb_array_elements_text(p->'runIds')::uuid)) and t.ended_at is not null and r.parent_run_id = v_run
    window earliest as (order by t.ended_at, t.run_id)
  ), page as (
    select e.*, layover.share_value(e.run_id, v_run, e.value) from ended e where e.place = 1 or e.bytes <= 1048576
  )
  select json_build_object('isMore', count(*) < (select count(*) from ended),
      'ends', coalesce(json_agg(json_build_object('runId', g.run_id, 'status', g.status, 'value', g.value) order by g.place), '[]'))
    into v_ends from page g;
  return (jsonb_build_object('outcome', 'read', 'now', layover.to_ms(layover.now())) || v_ends::jsonb)::json;
end $$;

-- Opens a cursor over the runs that may fit a filter (see find_runs), newest first, below the id `before`. It holds all that fit, and others,
-- so that an index answers it. Each status has an index that holds little else; only `completed` has none, since most runs are.
create or replace function layover.open_runs(p jsonb, before uuid) returns refcursor
language plpgsql volatile as $$
declare
  v_namespace constant text := p->>'namespace';
  v_workflow  constant text := p->>'workflow';
  v_status    constant text := p->>'status';
  v_tag       record;
  c           refcursor;
begin
  select l.name, l.value into v_tag from jsonb_each_text(coalesce(p->'tags', '{}')) as l (name, value) limit 1;
  if p ? 'parent' then
    open c for select r.id from layover.run r
     where r.parent_run_id = (p->>'parent')::uuid and r.id < before order by r.id desc;
  elsif v_tag.name is not null then
    open c for select l.run_id from layover.tag l
     where l.namespace = v_namespace and l.name = v_tag.name and l.value = v_tag.value and l.run_id < before
     order by l.run_id desc;
  elsif v_status = 'blocked' then
    open c for select t.run_id from layover.run_state t
     where t.namespace = v_namespace and t.blocked is not null and t.run_id < before order by t.run_id desc;
  elsif v_status in ('failed', 'cancelled') then
    open c for select t.run_id from layover.run_state t
     where t.namespace = v_namespace and t.error is not null and t.run_id < before order by t.run_id desc;
  elsif v_status <> 'completed' or p ? 'isLive' then
    open c for select t.run_id from layover.run_state t
     where t.namespace = v_namespace and t.ended_at is null and t.run_id < before order by t.run_id desc;
  elsif v_workflow is not null then
    open c for select r.id from layover.run r
     where r.namespace = v_namespace and r.workflow = v_workflow and r.id < before order by r.id desc;
  else
    open c for select r.id from layover.run r where r.id < before order by r.id desc;
  end if;
  return c;
end $$;

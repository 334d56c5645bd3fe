-- Forgets runs of a schedule that are over, so that its firings look at few. The caller has locked the schedule.
--
-- It looks at a thousand runs: at the oldest, or where runs may overlap, and many are at work for long, at those that come after the ones
-- that it looked at before. Answers whether all thousand were over. Then nobody knows yet whether another one is at work.
--
-- It locks the rows, and then looks whether the runs are over, as retry_run does it the other way round. It waits for nobody.
create or replace function layover.forget_ended_runs(v layover.schedule) returns boolean
language plpgsql volatile as $$
declare
  v_most    constant integer := 1000;
  v_allows  constant boolean := coalesce(v.definition->>'overlap' = 'allow', false);
  v_after   constant uuid := coalesce(case when v_allows then v.swept_through end, '00000000-0000-0000-0000-000000000000');
  v_page    uuid[];
  v_through uuid;
  v_count   integer;
begin
  v_page := array(
    select o.run_id from layover.scheduled_run o
     where o.namespace = v.namespace and o.schedule = v.name and o.run_id > v_after
     order by o.run_id limit v_most for update skip locked);
  delete from layover.scheduled_run o
   where o.namespace = v.namespace and o.schedule = v.name and o.run_id = any (v_page)
     and not exists (select from layover.run_state t where t.run_id = o.run_id and t.ended_at is null);
  get diagnostics v_count = row_count;
  v_through := case when v_allows then v_page[v_most] end;
  if v_through is distinct from v.swept_through then
    update layover.schedule o set swept_through = v_through where o.namespace = v.namespace and o.name = v.name;
  end if;
  return v_count = v_most and not v_allows;
end $$;

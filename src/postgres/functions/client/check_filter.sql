-- Refuses an act on many runs whose filter would mean all runs, or another set than its writer thinks.
create or replace function layover.check_filter(verb text, filter jsonb) returns void
language plpgsql volatile as $$
declare
  v_over   constant boolean := verb in ('retry', 'restart', 'delete');
  v_known  constant text[] := '{workflow,version,status,tags,parent,createdFrom,createdBefore}'::text[]
    || case when v_over then '{endedFrom,endedBefore}'::text[] end;
  v_status constant text := filter->>'status';
  v_other  text;
begin
  select k.key into v_other from jsonb_object_keys(filter) as k (key) where k.key <> all (v_known) limit 1;
  if v_other is not null then
    raise exception 'an act on many runs has no filter "%"', v_other using errcode = 'LO003',
      hint = format('The filters are %s.', array_to_string(v_known, ', '));
  elsif coalesce(filter - 'tags', '{}') = '{}' and coalesce(filter->'tags', '{}') = '{}' then
    raise exception 'an act on many runs needs a filter' using errcode = 'LO003',
      hint = 'Say which runs: {"filter": {"workflow": "order"}}.';
  elsif verb = 'retry' and v_status <> 'failed' or verb = 'delete' and not layover.is_over(v_status)
    or verb = 'restart' and coalesce(v_status not in ('completed', 'failed', 'cancelled', 'blocked', 'paused'), true)
    or not v_over and layover.is_over(v_status)
  then
    raise exception 'nothing can be done by % to runs of the status %', verb, coalesce(v_status, '(none given)') using errcode = 'LO003',
      hint = case when verb = 'restart' then 'Give one: completed, failed, cancelled, blocked or paused.'
        else 'Give another status, or none.' end;
  end if;
end $$;

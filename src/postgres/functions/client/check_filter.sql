-- Refuses an act on many runs whose filter would mean all runs, or another set than its writer thinks.
create or replace function layover.check_filter(filter jsonb) returns void
language plpgsql volatile as $$
declare
  v_known constant text[] := '{workflow,version,status,tags,parent,createdFrom,createdBefore}';
  v_other text;
begin
  select k.key into v_other from jsonb_object_keys(filter) as k (key) where k.key <> all (v_known) limit 1;
  if v_other is not null then
    raise exception 'an act on many runs has no filter "%"', v_other using errcode = 'LO003',
      hint = format('The filters are %s.', array_to_string(v_known, ', '));
  elsif coalesce(filter - 'tags', '{}') = '{}' and coalesce(filter->'tags', '{}') = '{}' then
    raise exception 'an act on many runs needs a filter' using errcode = 'LO003',
      hint = 'Say which runs: {"filter": {"workflow": "order"}}. Runs that are over are never meant.';
  elsif layover.is_over(filter->>'status') then
    raise exception 'a run that is % cannot be acted on', filter->>'status' using errcode = 'LO003',
      hint = 'Runs that are over are never meant: give another status, or none.';
  end if;
end $$;

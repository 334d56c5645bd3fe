-- Answers the live deployments beside the owner of a schedule that declare it, by name: the same (`alike`), or something else.
create or replace function layover.list_declarers(v layover.schedule, alike boolean) returns jsonb
language plpgsql stable as $$
begin
  if v.declarations is null then
    return '[]';
  end if;
  return (
    select coalesce(jsonb_agg(distinct l.name), '[]') from layover.live_deployments(v.namespace) as l
     where v.declarations ? l.name and layover.is_same_schedule(v.definition, v.declarations->l.name) = alike);
end $$;

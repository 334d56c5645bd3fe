-- Answers the next records of a history whose claim answered only the first ones, to the holder of that lease. They are those after the
-- position `after` and through the position `through`, as many as fit in `budgetBytes`.
create or replace function layover.read_page(p jsonb) returns json
language plpgsql volatile as $$
begin
  if not exists (
    select from layover.run_state t
     where t.run_id = (p->>'runId')::uuid and t.namespace = p->>'namespace' and t.epoch = (p->>'epoch')::integer
       and case when not p ? 'path' then t.token = (p->>'token')::uuid else exists (
         select from layover.pending b
          where b.run_id = t.run_id and b.path = p->>'path' and b.occurrence = (p->>'occurrence')::integer
            and b.token = (p->>'token')::uuid) end)
  then
    return json_build_object('outcome', 'superseded', 'now', layover.to_ms(layover.now()));
  end if;
  return json_build_object('outcome', 'read', 'now', layover.to_ms(layover.now()), 'records', layover.read_records(
    (p->>'runId')::uuid, (p->>'epoch')::integer, (p->>'after')::integer, (p->>'through')::integer,
    (p->>'budgetBytes')::bigint));
end $$;

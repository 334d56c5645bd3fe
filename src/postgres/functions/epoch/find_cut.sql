-- Answers how many records of a run's history stand before the place `from`: {"path", "occurrence"}. Without it: none. What the run waits for
-- stands after all records. Null: the run has not come to that place.
create or replace function layover.find_cut(run uuid, epoch integer, "from" jsonb) returns integer
language plpgsql stable as $$
begin
  if "from" is null then
    return 0;
  end if;
  return coalesce(
    (select min(h.position) - 1 from layover.record h
      where h.run_id = run and h.epoch = find_cut.epoch and h.path = "from"->>'path'
        and h.occurrence = ("from"->>'occurrence')::integer),
    (select t.last_position from layover.pending b join layover.run_state t on t.run_id = b.run_id
      where b.run_id = run and b.path = "from"->>'path' and b.occurrence = ("from"->>'occurrence')::integer));
end $$;

-- Adds to the answer of a finish the turns of other runs that may be claimed since, and keeps the answer for a finish that comes again. Null:
-- there are none.
create or replace function layover.name_others(run uuid, answer json, others jsonb) returns json
language plpgsql volatile as $$
declare
  v_answer jsonb;
begin
  if others is null then
    return answer;
  end if;
  v_answer := answer::jsonb || jsonb_build_object('others', others || coalesce(answer::jsonb->'others', '[]'));
  update layover.run_state t set finished_answer = v_answer::text where t.run_id = run;
  return v_answer;
end $$;

-- Answers what the finish with this token was told before.
create or replace function layover.answer_again(namespace text, run uuid, token uuid) returns json
language plpgsql volatile as $$
declare
  s record;
begin
  select t.turn, t.status, t.finished_token, t.finished_answer into s
    from layover.run_state t where t.run_id = run and t.namespace = answer_again.namespace;
  if not found then
    return json_build_object('outcome', 'unknown');
  elsif s.finished_token is distinct from token then
    perform layover.spare_loss(run, null, null, token);
    return json_build_object('outcome', 'superseded');
  end if;
  return coalesce(s.finished_answer::json, layover.plain_answer(s.turn, s.status));
end $$;

-- held -> forgotten, once the store has deleted the values of these keys, which sweep_values has answered.
create or replace function layover.forget_values(p jsonb) returns json
language plpgsql volatile as $$
begin
  perform layover.check_isolation();
  perform layover.check_environment(p);
  delete from layover.stored_value u
   where (u.run_id, u.key) in (
     select o.run_id, o.key from layover.stored_value o
      where o.namespace = p->>'namespace' and o.key in (select k from jsonb_array_elements_text(p->'keys') as k)
        and not exists (select from layover.run r where r.id = o.run_id)
      order by o.key, o.run_id for update);
  perform layover.check_time(p);
  return json_build_object('outcome', 'forgotten');
end $$;

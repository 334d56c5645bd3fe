-- Whether one of the processes in which the instants of a call ring (`rings`: their ids) is not listed. It is asked last, after the waits
-- for locks.
create or replace function layover.is_one_struck(p jsonb) returns boolean
language plpgsql volatile as $$
begin
  return exists (
    select from jsonb_array_elements_text(p->'rings') as r (id)
     where not exists (select from layover.process c where c.namespace = p->>'namespace' and c.id = r.id::uuid));
end $$;

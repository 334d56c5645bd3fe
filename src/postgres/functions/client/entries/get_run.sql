-- Answers one run as it is now. `longestInput` leaves a longer input out: a caller that waits for a result needs none of it.
create or replace function layover.get_run(p jsonb) returns json
language plpgsql volatile as $$
begin
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  return coalesce(layover.describe(layover.find_run(p), (p->>'longestInput')::integer, null),
    json_build_object('outcome', 'unknown'));
end $$;

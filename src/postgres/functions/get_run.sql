-- One run as it is now. `longestInput` leaves a longer input out: whoever waits for a result needs none of it.
create or replace function layover.get_run(p jsonb) returns json
language sql volatile as $$
  select layover.check_key(p) where p ? 'keyId';
  select coalesce((
    select layover.describe(f.run, (p->>'longestInput')::integer, null)
      from layover.find_run(p) as f (run) where f.run is not null),
    json_build_object('outcome', 'unknown'))
$$;

create or replace function layover.get_run(p jsonb) returns json
language sql volatile as $$
  select coalesce((select layover.describe(f.run) from layover.find_run(p) as f (run) where f.run is not null), 
    json_build_object('outcome', 'unknown'))
$$;

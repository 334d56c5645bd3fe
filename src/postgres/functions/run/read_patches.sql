-- Answers the changes of its code that a run has met, for a process that has not seen all of its history. Nobody else needs them.
create or replace function layover.read_patches(run uuid, epoch integer) returns json
language plpgsql volatile as $$
begin
  return (select json_agg(json_build_object('path', x.path, 'position', x.position))
    from layover.patch x where x.run_id = run and x.epoch = read_patches.epoch);
end $$;

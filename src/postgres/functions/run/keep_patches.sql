-- Keeps the changes of its code that a run has met in this turn, up to the position that the turn saw (`through`; null: all of them).
create or replace function layover.keep_patches(run uuid, epoch integer, patches jsonb, through integer) returns void
language plpgsql volatile as $$
begin
  insert into layover.patch (run_id, epoch, path, position)
    select run, keep_patches.epoch, x.patch->>'path', (x.patch->>'position')::integer
      from jsonb_array_elements(patches) as x (patch)
     where through is null or (x.patch->>'position')::integer <= through
    on conflict do nothing;
end $$;

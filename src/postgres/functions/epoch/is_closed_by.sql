-- Whether the records that are kept close this name of signals. A run that only goes on undoing takes no signal either.
create or replace function layover.is_closed_by(run uuid, epoch integer, kept integer[], name text) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from layover.record h
     where h.run_id = run and h.epoch = is_closed_by.epoch and h.position = any (kept)
       and (h.kind = 'ending' or h.kind = 'close' and substr(h.value, 2) = 'true' and regexp_replace(h.path, '^.*/', '') = name));
end $$;

-- Answers for which reason a run closes whose handler has thrown amid a cleanup of another part. `afterThrow` in src/core/replay/closing.ts is the same.
create or replace function layover.after_throw() returns text
language sql immutable as $$
  select 'its handler has thrown'
$$;

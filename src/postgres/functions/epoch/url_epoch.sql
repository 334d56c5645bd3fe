-- Answers the epoch to which the URL of a callback belongs that a run makes in this segment of its history. What a fork has copied, it goes
-- through itself in its first epoch, which is 1.
create or replace function layover.url_epoch(run uuid, segment jsonb) returns integer
language sql immutable as $$
  select case when (segment->>'run')::uuid = run then (segment->>'epoch')::integer else 1 end
$$;

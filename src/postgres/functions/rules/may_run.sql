-- Whether nothing keeps a run from new turns: it is not blocked, refused or paused, no claim has to write first that it closes, and its
-- handler has not ended.
create or replace function layover.may_run(t layover.run_state, at timestamptz) returns boolean
language sql stable as $$
  select t.blocked is null and t.refused_by is null and t.paused_at is null and not t.is_closing
    and coalesce(layover.stops_at(t) > at, true)
$$;

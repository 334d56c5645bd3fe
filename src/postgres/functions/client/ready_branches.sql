-- Answers the branches of a run that may be claimed now, up to a hundred, in the order in which they were demanded. Null: there are none.
create or replace function layover.ready_branches(run uuid, at timestamptz) returns json
language sql stable as $$
  select json_agg(json_build_object('path', o.path, 'occurrence', o.occurrence, 'turn', o.turn) order by o.ordinal)
    from (
      select b.path, b.occurrence, b.turn, b.ordinal from layover.pending b
       where b.run_id = ready_branches.run and layover.is_open_branch(b) and coalesce(b.leased_until, b.ready_at) <= at
       order by b.ordinal limit 100) as o
$$;

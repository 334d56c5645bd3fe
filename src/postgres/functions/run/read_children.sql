-- Reads the ends of other runs that the run may take, the earliest first: as many as have 1 MiB together, at least one. `isMore`: there are
-- more of them.
create or replace function layover.read_children(run uuid) returns json
language plpgsql volatile as $$
begin
  return (
    select json_build_object('isMore', bool_or(o.is_more), 'ends', json_agg(json_build_object('path', o.path, 'occurrence', o.occurrence,
        'status', o.child_status, 'value', o.child_value, 'endedAt', layover.to_ms(o.child_ended_at)) order by o.place) filter (where not o.is_more))
      from (
        select b.path, b.occurrence, b.child_status, b.child_value, b.child_ended_at, row_number() over earliest as place,
            row_number() over earliest > 1 and sum(octet_length(b.child_value) + 200) over earliest > 1048576 as is_more
          from layover.pending b
         where b.run_id = run and b.child_status is not null and not b.is_released
        window earliest as (order by b.child_ended_at, b.ordinal)
      ) as o having count(*) > 0
  );
end $$;

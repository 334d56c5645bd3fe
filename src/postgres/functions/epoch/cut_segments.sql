-- Answers the segments of a history of which these positions are kept, and what `next` says of all that follows. A segment of which nothing is
-- kept is left out; what still waits from before it waits longer by its `shift`, too.
create or replace function layover.cut_segments(segments jsonb, kept integer[], next jsonb) returns jsonb
language sql immutable as $$
  with known as (
    select g.segment, g.place, (select count(*) from unnest(kept) as k (position) where k.position <= (g.segment->>'from')::integer) as begins
      from jsonb_array_elements(segments) with ordinality as g (segment, place)
  )
  select coalesce(jsonb_agg(k.segment || jsonb_build_object('from', k.begins) order by k.place) filter (where k.begins < cardinality(kept)), '[]')
      || (next || jsonb_build_object('from', cardinality(kept), 'shift', coalesce((next->>'shift')::bigint, 0)
        + coalesce(sum((k.segment->>'shift')::bigint) filter (where k.begins >= cardinality(kept)), 0)))
    from known k
$$;

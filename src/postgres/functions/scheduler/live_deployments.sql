-- Answers the deployments that may carry out runs now: of each name the two that were deployed last, as long as they tick. A deployment
-- is gone if it was not seen for two hours while another one of its name was seen. If no deployment of a name has anything to do, each
-- of them still ticks every six hours.
create or replace function layover.live_deployments(namespace text)
returns table (name text, id text, versions jsonb, deployed_at timestamptz)
language sql stable as $$
  select q.name, q.id, q.versions, q.deployed_at
    from (
      select d.name, d.id, d.versions, d.deployed_at, d.seen_at,
          row_number() over (partition by d.name order by d.deployed_at desc, d.id) as rank,
          max(d.seen_at) over (partition by d.name) as last_seen_at
        from layover.deployment d where d.namespace = $1
    ) as q
   where q.rank <= 2 and q.seen_at > q.last_seen_at - interval '2 hours'
     and q.seen_at > layover.now() - interval '13 hours'
$$;

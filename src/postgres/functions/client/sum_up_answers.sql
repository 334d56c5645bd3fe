-- Sums up what runs answered to an act on many: how many of each outcome, why others were refused (an error's code, and the first ten ids each), and what may be
-- claimed now. Of turns and of branches it tells the first 1,000; the scheduler finds the others at the instant that was armed for their runs.
create or replace function layover.sum_up_answers(answers json[]) returns jsonb
language plpgsql volatile as $$
begin
  return (
    with told as materialized (
      select o.answer, o.answer->>'runId' as run, o.place,
          case o.answer->>'outcome' when 'closing' then 'not_applicable' when 'unknown_place' then 'unknown_step'
            when 'over' then 'run_over' when 'closed' then 'signal_closed' else o.answer->>'outcome' end as outcome,
          o.answer->>'outcome' <> all ('{paused,resumed,cancelling,cancelled,terminated,deleted,retried,restarted,sent,duplicate}')
            as is_refused
        from unnest(answers) with ordinality as o (answer, place)
       where o.answer->>'outcome' <> 'unknown' -- it was pruned since it was found
    )
    select jsonb_build_object(
      'outcomes', (
        select coalesce(jsonb_object_agg(d.outcome, d.runs), '{}')
          from (select o.outcome, count(*) as runs from told o where not o.is_refused group by o.outcome) as d),
      'refused', (
        select coalesce(jsonb_agg(jsonb_build_object('code', d.outcome, 'runs', d.runs, 'runIds', d.ids[1:10]) order by d.outcome), '[]')
          from (select o.outcome, count(*) as runs, array_agg(o.run order by o.place) as ids
                  from told o where o.is_refused group by o.outcome) as d),
      'turns', (
        select coalesce(jsonb_agg(d.turn order by d.place), '[]') from (
          select jsonb_build_object('runId', o.run, 'turn', o.answer->'turn') as turn, o.place
            from told o where o.answer->>'turn' is not null
          union all
          select d.turn::jsonb, o.place from told o cross join lateral json_array_elements(
            case when json_typeof(o.answer->'others') = 'array' then o.answer->'others' end) as d (turn)
           order by place limit 1000) as d),
      'branches', (
        select coalesce(jsonb_agg(d.branch), '[]')
          from (select d.branch::jsonb || jsonb_build_object('runId', o.run) as branch
                  from told o cross join lateral json_array_elements(
                    case when json_typeof(o.answer->'branches') = 'array' then o.answer->'branches' end) as d (branch)
                 order by o.place limit 1000) as d))
  );
end $$;

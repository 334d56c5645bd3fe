-- Answers the signals that the run may take: of each name the first twenty, in order of arrival.
create or replace function layover.read_signals(run uuid) returns json
language plpgsql volatile as $$
begin
  return (
    select json_agg(json_build_object('number', g.number, 'name', g.name, 'payload', g.payload, 'isParsed', g.is_parsed,
        'receivedAt', layover.to_ms(g.received_at)) order by g.number)
      from (select g.number, g.name, g.payload, g.is_parsed, g.received_at,
                row_number() over (partition by g.name order by g.number) as rank
              from layover.signal g where g.run_id = run and g.position is null) as g
     where g.rank <= 20
  );
end $$;

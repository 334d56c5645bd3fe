-- The signals that could be taken: of each name the first twenty, in order of arrival.
create or replace function layover.read_signals(run uuid) returns json
language plpgsql volatile as $$
begin
  return (
    select json_agg(json_build_object('number', g.number, 'name', g.name, 'payload', g.payload, 'isParsed', g.is_parsed,
        'receivedAt', layover.to_ms(g.received_at)) order by g.number)
      from (select h.number, h.name, h.payload, h.is_parsed, h.received_at,
                row_number() over (partition by h.name order by h.number) as rank
              from layover.signal h where h.run_id = run and h.position is null) as g
     where g.rank <= 20
  );
end $$;

-- Answers the results that a person gave for failed steps, by the positions of their records: {"position": "value"}.
create or replace function layover.results_at(run uuid, epoch integer, results jsonb) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_object_agg(h.position, g.item->'value')
      from jsonb_array_elements(results) as g (item) join layover.record h
        on h.run_id = run and h.epoch = results_at.epoch and h.kind = 'step' and h.is_failure
          and h.path = g.item->>'path' and h.occurrence = (g.item->>'occurrence')::integer);
end $$;

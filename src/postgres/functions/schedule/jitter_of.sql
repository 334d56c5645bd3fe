-- Answers by how much the firing of a schedule at an instant is put off: some whole minutes within its jitter, always the same ones. It never
-- reaches the next instant, so instants are fired in their order, and none that is put off looks missed.
create or replace function layover.jitter_of(name text, definition jsonb, at timestamptz) returns interval
language plpgsql stable as $$
declare
  v_most bigint := coalesce((definition->>'jitterMs')::bigint, 0);
begin
  if v_most >= 60000 then
    v_most := least(v_most, layover.to_ms(layover.next_instant(name, definition, at)) - layover.to_ms(at) - 60000);
  end if;
  return ('x' || left(md5(name || ' ' || layover.to_ms(at)), 7))::bit(28)::integer % (v_most / 60000 + 1) * interval '1 minute';
end $$;

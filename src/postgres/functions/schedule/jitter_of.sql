-- Answers by how much the firing of a schedule at an instant is put off: some whole minutes within its jitter, always the same ones.
create or replace function layover.jitter_of(name text, definition jsonb, at timestamptz) returns interval
language sql stable as $$
  select case when coalesce((definition->>'jitterMs')::bigint, 0) < 60000 then interval '0'
    else ('x' || left(md5(name || ' ' || layover.to_ms(at)), 7))::bit(28)::integer
      % ((definition->>'jitterMs')::bigint / 60000 + 1) * interval '1 minute' end
$$;

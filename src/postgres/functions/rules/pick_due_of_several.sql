-- Does what pick_due does, where a call has armed several instants.
create or replace function layover.pick_due_of_several(armed jsonb, need timestamptz) returns timestamptz
language plpgsql stable as $$
begin
  return (
    select layover.from_ms(coalesce(
        max(a.ms::bigint) filter (where a.ms::bigint <= layover.to_ms(need)), min(a.ms::bigint)))
      from jsonb_array_elements_text(armed) as a (ms)
  );
end $$;

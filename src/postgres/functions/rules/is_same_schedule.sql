-- Whether two definitions of a schedule are the same. Where the input is encrypted, its text is another one each time; then `sent`, a MAC
-- of the input, tells.
create or replace function layover.is_same_schedule(one jsonb, other jsonb) returns boolean
language sql immutable as $$
  select case when one ? 'sent' and other ? 'sent' then one - 'encodedInput' = other - 'encodedInput' else one = other end
$$;

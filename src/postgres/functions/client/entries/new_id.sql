-- Makes a uuid v7 (RFC 9562): 48 bits of milliseconds, then random bits. PostgreSQL has a function of its own only from 18 on.
create or replace function layover.new_id() returns uuid
language sql volatile as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid()) placing substring(int8send(layover.to_ms(layover.now())) from 3) from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- Whether the same was sent, though a schema may have made something else of it each time, or one of two versions' schemas:
-- `sent` is the digest of what came, and null where it is what was stored.
create or replace function layover.is_same(one text, one_sent text, other text, other_sent text) returns boolean
language sql immutable as $$
  select one = other or coalesce(one_sent, encode(sha256(convert_to(one, 'UTF8')), 'hex'))
    = coalesce(other_sent, encode(sha256(convert_to(other, 'UTF8')), 'hex'))
$$;

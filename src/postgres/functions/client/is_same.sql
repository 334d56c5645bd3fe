-- Whether two sent values are the same. The keys of an object may come in another order. `sent` is the digest of a value as it came,
-- if a schema made another value of it; null: the stored value is the one that came. Where values are encrypted, it is some
-- MACs with points between (encryption/sameness.ts), and one that both have is enough.
--
-- The mark of a sensitive value does not count: its eleven characters are left out.
--
-- A value that jsonb cannot hold ("\u0000") is compared by its text alone.
create or replace function layover.is_same(one text, one_sent text, other text, other_sent text) returns boolean
language plpgsql immutable as $$
begin
  one := case when starts_with(one, '3sensitive.') then substr(one, 12) else one end;
  other := case when starts_with(other, '3sensitive.') then substr(other, 12) else other end;
  if one = other or string_to_array(one_sent, '.') && string_to_array(other_sent, '.') or coalesce(one_sent, encode(sha256(convert_to(one, 'UTF8')), 'hex'))
    = coalesce(other_sent, encode(sha256(convert_to(other, 'UTF8')), 'hex'))
  then
    return true;
  elsif one_sent is not null or other_sent is not null or left(one, 1) <> left(other, 1) then
    return false;
  end if;
  return substr(one, 2)::jsonb = substr(other, 2)::jsonb;
exception when data_exception then
  return false;
end $$;

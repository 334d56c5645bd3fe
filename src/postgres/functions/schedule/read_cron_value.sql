-- Reads a number or a name in a field of a cron pattern. Raises what is wrong with it.
create or replace function layover.read_cron_value(word text, label text, low integer, high integer, names text[], hint text) returns integer
language plpgsql immutable as $$
declare
  v_value constant integer := case when word ~ '^[0-9]+$' then word::integer else array_position(names, word) - 1 + low end;
begin
  if v_value is null then
    raise exception using errcode = '22023', message = format('the %s "%s" is not known: write %s', label, word, hint);
  elsif v_value not between low and high then
    raise exception using errcode = '22023', message = format('the %s %s is out of range: write %s', label, word, hint);
  end if;
  return v_value;
end $$;

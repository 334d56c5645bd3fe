-- Reads one field of a cron pattern: a bit for each number from 0 to `high`. Raises what is wrong with it.
--
-- An item of its list is `*`, a number or a name, or a range; `*` and a range may have a step. Programs differ about `5/15`, so it is refused.
create or replace function layover.read_cron_field(field text, label text, low integer, high integer, names text[]) returns varbit
language plpgsql immutable as $$
declare
  v_bits   varbit := repeat('0', high + 1)::varbit;
  v_most   constant integer := high - low + 1 - (high = 7)::integer; -- a week has 7 days, of which Sunday is 0 and 7
  v_hint   constant text := low || ' to ' || high || coalesce(', or ' || names[1] || ' to ' || names[cardinality(names)], '');
  v_item   text;
  v_parts  text[];
  v_first  integer;
  v_last   integer;
  v_step   integer;
begin
  foreach v_item in array string_to_array(field, ',') loop
    v_parts := regexp_match(v_item, '^(?:\*|([a-z0-9]{1,9})(?:-([a-z0-9]{1,9}))?)(?:/([0-9]{1,9}))?$');
    if v_parts is null then
      raise exception using errcode = '22023', message = format(
        'the %s "%s" cannot be read: write *, %s, a list of these (1,2), a range (1-5) or a step (*/5)', label, left(v_item, 20), v_hint);
    end if;
    v_first := case when v_parts[1] is null then low else layover.read_cron_value(v_parts[1], label, low, high, names, v_hint) end;
    v_last := case
      when v_parts[2] is not null then layover.read_cron_value(v_parts[2], label, low, high, names, v_hint)
      when v_parts[1] is null then low + v_most - 1
      else v_first end;
    v_step := coalesce(v_parts[3]::integer, 1);
    if high = 7 and v_last = 0 and v_first > 0 then -- sat-sun
      v_last := 7;
    end if;
    if v_parts[1] is not null and v_parts[2] is null and v_parts[3] is not null then
      raise exception using errcode = '22023', message = format(
        'the %s "%s" has a step and no range: write %s-%s/%s', label, v_item, v_first, greatest(v_first, low + v_most - 1), v_step);
    elsif v_step not between 1 and v_most then
      raise exception using errcode = '22023', message = format(
        'the %s "%s" has a step of %s, which must be 1 to %s', label, v_item, v_step, v_most);
    elsif v_first > v_last then
      raise exception using errcode = '22023', message = format(
        'the %s "%s" is a range that goes backwards: write %s-%s,%s-%s', label, v_item, v_first, low + v_most - 1, low, v_last);
    end if;
    v_bits := v_bits | (repeat('0', v_first)
      || left(repeat('1' || repeat('0', v_step - 1), v_last - v_first + 1), v_last - v_first + 1) || repeat('0', high - v_last))::varbit;
  end loop;
  return v_bits;
end $$;

-- Answers the values of one field of a cron pattern, in order: `*`, numbers, ranges, steps and lists of them. `names` stand for the numbers
-- from `low` on. Raises LO016, in plain words, if it is no such field.
create or replace function layover.read_cron_field(field text, what text, low integer, high integer, names text[]) returns integer[]
language plpgsql immutable as $$
declare
  v_values integer[] := '{}';
  v_part   text;
  v_ends   text[];
  v_from   integer;
  v_to     integer;
  v_step   integer;
begin
  foreach v_part in array string_to_array(field, ',') loop
    v_ends := regexp_match(v_part, '^(?:(\*)|([0-9]{1,4}|[A-Za-z]{3})(?:-([0-9]{1,4}|[A-Za-z]{3}))?)(?:/([0-9]{1,4}))?$');
    if v_ends is null then
      raise exception 'its % "%" cannot be read', what, v_part using errcode = 'LO016';
    end if;
    v_step := v_ends[4]::integer;
    if v_step = 0 then
      raise exception 'its % "%" has a step of 0', what, v_part using errcode = 'LO016';
    end if;
    v_from := case when v_ends[1] is not null then low else layover.read_cron_value(v_ends[2], low, names) end;
    v_to := case
      when v_ends[1] is not null then least(high, low + case when what = 'weekday' then 6 else high end)
      when v_ends[3] is not null then layover.read_cron_value(v_ends[3], low, names)
      when v_step is not null then high
      else v_from end;
    if v_from is null or v_to is null or v_from < low or v_to > high or v_to < low or v_from > high then
      raise exception 'its % "%" is not within % and %', what, v_part, low, high using errcode = 'LO016';
    elsif v_to < v_from then
      raise exception 'its % "%" runs backwards', what, v_part using errcode = 'LO016';
    end if;
    v_values := v_values || array(select n from generate_series(v_from, v_to, coalesce(v_step, 1)) as n);
  end loop;
  if v_values = '{}' then
    raise exception 'its % is empty', what using errcode = 'LO016';
  end if;
  return array(select distinct case when what = 'weekday' then n % 7 else n end as n from unnest(v_values) as n order by 1);
end $$;

-- Refuses what would be stored in a copy, where nothing is carried out, or by an address that nobody has adopted.
create or replace function layover.check_environment(p jsonb) returns void
language plpgsql volatile as $$
declare
  v_mismatch constant text := layover.find_mismatch(p);
begin
  if v_mismatch = 'database' then
    raise exception 'the namespace "%" belongs to another database than this one, which is a copy of it, or was restored or upgraded',
      coalesce(p->>'namespace', 'default') using errcode = 'LO010', hint = 'If its runs are to go on here: layover adopt';
  elsif v_mismatch is not null then
    raise exception 'the namespace "%" does not know this database by the address "%"', coalesce(p->>'namespace', 'default'),
      p->>'endpoint' using errcode = 'LO010', hint = 'If it leads to the same database: layover adopt --address';
  end if;
end $$;

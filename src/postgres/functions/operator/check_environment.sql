-- Refuses a call that would store something in a copy of the database, or that comes by an address nobody has adopted.
create or replace function layover.check_environment(p jsonb) returns void
language plpgsql volatile as $$
declare
  v_mismatch constant text := layover.find_mismatch(p);
begin
  if v_mismatch = 'database' then
    raise exception 'the namespace "%" belongs to another database than this one, which is a copy of it, or was restored or upgraded',
      coalesce(p->>'namespace', 'default') using errcode = 'LO010', hint = 'If its runs are to be carried out here: npx layover adopt';
  elsif v_mismatch is not null then
    raise exception 'the namespace "%" does not know this database by the address "%"', coalesce(p->>'namespace', 'default'),
      p->>'endpoint' using errcode = 'LO010', hint = 'If this is a new address of the same database: npx layover adopt --address';
  end if;
end $$;

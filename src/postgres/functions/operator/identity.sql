-- Which database this is, wherever its address leads: the server's own number, the database in it, and on Neon the branch,
-- which shares the others with the one that it came from. A copy of the files cannot be told apart.
--
-- A session stays in one database of one server, so it keeps the answer: 2 µs instead of 30.
create or replace function layover.identity() returns text
language plpgsql volatile as $$
declare
  v_identity text := current_setting('layover.identity', true);
  v_server   text;
begin
  if v_identity <> '' then
    return v_identity;
  end if;
  begin
    v_server := (pg_control_system()).system_identifier;
  exception when others then -- a host that keeps it from its users, or has none
  end;
  v_identity := concat_ws('/', v_server, (select d.oid from pg_database d where d.datname = current_database()),
    current_database(), current_setting('neon.timeline_id', true));
  return set_config('layover.identity', v_identity, false);
end $$;

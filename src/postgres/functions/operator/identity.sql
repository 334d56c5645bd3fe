-- Answers which database this is, whatever its address: the number of the server, the database in it, and on Neon the branch. A branch
-- shares the first two with the branch that it came from. A copy of the files cannot be told apart.
--
-- A session stays in one database of one server, so the session keeps the answer: 2 µs instead of 30.
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
  exception when others then -- some hosts keep this number from their users, or have none
  end;
  v_identity := concat_ws('/', v_server, (select d.oid from pg_database d where d.datname = current_database()),
    current_database(), current_setting('neon.timeline_id', true));
  return set_config('layover.identity', v_identity, false);
end $$;

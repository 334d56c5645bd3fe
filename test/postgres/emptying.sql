-- Lets the tests of a suite share a database: its rows are deleted in between. A new database costs 40 ms of CPU, and new
-- sessions have to plan each statement of layover's functions again, which costs a simple test 100 ms more.

create table layover_test.alteration (command text not null);
create table layover_test.first_migration as table layover.migration;
create table layover_test.first_function_set as table layover.function_set;

create function layover_test.note_alteration() returns event_trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('layover_test.is_turning', true) is distinct from 'yes' then
    insert into layover_test.alteration values (tg_tag);
  end if;
end $$;

-- Deletes the rows of all that has happened.
create function layover_test.delete_rows() returns void language plpgsql as $$
declare
  name text;
begin
  -- No trigger is asked, so that the order of the tables does not matter.
  set local session_replication_role = replica;
  for name in
    select tablename from pg_tables where schemaname = 'layover' and tablename not in ('migration', 'function_set')
  loop
    execute format('delete from layover.%I', name);
  end loop;
  for name in select sequencename from pg_sequences where schemaname = 'layover' and last_value is not null loop
    perform setval(format('layover.%I', name), 1, false);
  end loop;
end $$;

-- Deletes these rows, and says whether the database is like a new one then. It is not after a test that altered
-- more than rows. All sessions are ended but the ones whose process ids are given.
create function layover_test.empty(kept integer[]) returns boolean language plpgsql as $$
begin
  perform pg_terminate_backend(pid, 5000) from pg_stat_activity
   where datname = current_database() and backend_type = 'client backend' and pid <> all (kept || pg_backend_pid());
  if exists (select from layover_test.alteration)
     or exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where datname = current_database())
     or exists (table layover.migration except table layover_test.first_migration)
     or exists (table layover_test.first_migration except table layover.migration)
     or exists (table layover.function_set except table layover_test.first_function_set)
     or exists (table layover_test.first_function_set except table layover.function_set)
  then
    return false;
  end if;
  perform layover_test.delete_rows();
  return true;
end $$;

create event trigger layover_test_alteration on ddl_command_end execute function layover_test.note_alteration();

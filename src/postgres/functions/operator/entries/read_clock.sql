-- Answers the database's time, for a process that is about to arm its first alarm. The same answer says up to where the database was
-- migrated, so that the process learns whether its code fits. `functions` is the release of the functions; null: a migrate is under way
-- or was cut off.
create or replace function layover.read_clock() returns json
language sql volatile as $$
  select json_build_object('now', layover.to_ms(layover.now()),
    'migration', (select max(n.number) from layover.migration n),
    'breaking', (select max(n.number) from layover.migration n where n.is_breaking),
    'functions', (select f.version from layover.function_set f where f.checksum <> ''))
$$;

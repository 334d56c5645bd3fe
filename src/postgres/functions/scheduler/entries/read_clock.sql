-- The database's time, for a process that is about to arm its first alarm; and up to where the database was migrated, so
-- that it learns whether its code fits without a statement of its own. `functions`: of which release the functions are; null while
-- a migrate is under way, or after one that was cut off.
create or replace function layover.read_clock() returns json
language sql volatile as $$
  select json_build_object('now', layover.to_ms(layover.now()),
    'migration', (select max(n.number) from layover.migration n),
    'breaking', (select max(n.number) from layover.migration n where n.is_breaking),
    'functions', (select f.version from layover.function_set f where f.checksum <> ''))
$$;

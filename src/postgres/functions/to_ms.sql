-- A time as calls carry it: epoch milliseconds.
create or replace function layover.to_ms(t timestamptz) returns bigint
language sql immutable as $$ select (extract(epoch from t) * 1000)::bigint $$;

-- A time as calls carry it: epoch milliseconds. (Stable, as extract is: declared stricter, it could not be inlined.)
create or replace function layover.to_ms(t timestamptz) returns bigint
language sql stable as $$ select (extract(epoch from t) * 1000)::bigint $$;

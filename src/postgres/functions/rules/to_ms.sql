-- Answers a time as calls carry it: milliseconds since 1970. (Stable, as extract is: if it were declared immutable, it would not be
-- inlined.)
create or replace function layover.to_ms(t timestamptz) returns bigint
language sql stable as $$ select (extract(epoch from t) * 1000)::bigint $$;

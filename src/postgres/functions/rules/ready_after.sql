-- From when a claim may succeed, of what is to wait so long. What is ready now is ready since the start of time: if it were
-- ready since now, and the database's clock were set back, it would wait until that time comes again.
create or replace function layover.ready_after(ms bigint, at timestamptz) returns timestamptz
language sql stable as $$ select case when ms <= 0 then 'epoch' else at + ms * interval '1 millisecond' end $$;

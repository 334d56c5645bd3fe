-- Answers from when a claim may succeed, for a wait of so many milliseconds. What is ready now gets 'epoch': if it got the present time,
-- and the clock were set back, it would wait until that time comes again.
create or replace function layover.ready_after(ms bigint, at timestamptz) returns timestamptz
language sql stable as $$ select case when ms <= 0 then 'epoch' else at + ms * interval '1 millisecond' end $$;

-- Answers when a lease ends that a call takes or renews at this time.
create or replace function layover.lease_end(p jsonb, at timestamptz) returns timestamptz
language sql stable as $$ select at + (p->>'leaseMs')::integer * interval '1 millisecond' $$;

-- Whether the instant has passed after which the caller no longer counts on this call. It is asked last, after the waits for locks: an
-- alarm armed for a call that took longer may have rung already.
create or replace function layover.is_too_late(p jsonb) returns boolean
language sql volatile as $$ select layover.now() > layover.from_ms((p->>'notAfter')::bigint) $$;

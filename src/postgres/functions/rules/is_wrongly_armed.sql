-- Whether a call must not take effect, since what it has armed may not ring for it: it is too late, or one of the processes in
-- which that rings (`rings`) was struck from the list, so that nobody looks after it any more.
create or replace function layover.is_wrongly_armed(p jsonb) returns boolean
language sql volatile as $$ select layover.is_too_late(p) or (p ? 'rings' and layover.is_one_struck(p)) $$;

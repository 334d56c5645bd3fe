-- Whether a call must not take effect, since the alarms that it armed may not ring for it. It is too late, or one of the processes in
-- which they ring (`rings`) is not listed any more, so that nobody looks after that process.
create or replace function layover.is_wrongly_armed(p jsonb) returns boolean
language sql volatile as $$ select layover.is_too_late(p) or (p ? 'rings' and layover.is_one_struck(p)) $$;

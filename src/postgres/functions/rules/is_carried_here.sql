-- Whether the calling deployment has the code of this workflow version.
create or replace function layover.is_carried_here(p jsonb, workflow text, version integer) returns boolean
language sql stable as $$ select coalesce(p->'versions'->workflow @> to_jsonb(version), false) $$;

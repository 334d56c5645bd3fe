-- nothing -> held, before values are put into the store: `values` is a list of {"runId", "key", "bytes"}. The run may not have begun yet. If it
-- is not there an hour later, the value is of no use, and the sweep deletes it.
create or replace function layover.hold_values(p jsonb) returns json
language plpgsql volatile as $$
begin
  perform layover.check_isolation();
  perform layover.check_environment(p);
  if p ? 'keyId' then
    perform layover.check_key(p);
  end if;
  insert into layover.stored_value (namespace, key, run_id, bytes, look_at)
    select p->>'namespace', q->>'key', (q->>'runId')::uuid, (q->>'bytes')::bigint,
        layover.now() + interval '1 hour'
      from jsonb_array_elements(p->'values') as q
     order by 3, 2
    on conflict do nothing;
  perform layover.check_time(p);
  return json_build_object('outcome', 'held');
end $$;

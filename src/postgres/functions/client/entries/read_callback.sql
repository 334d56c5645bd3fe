-- Answers what became of a callback, for the page that a person opens. It writes nothing.
create or replace function layover.read_callback(p jsonb) returns json
language sql volatile as $$
  select layover.check_key(p) where p ? 'keyId';
  select coalesce((
    select json_build_object('outcome', case
        when k.outcome is not null then k.outcome
        when layover.takes_no_answer(t, p) then 'over'
        when b.until < layover.now() then 'expired'
        else 'open' end,
      'until', layover.to_ms(b.until))
      from layover.run_state t
      left join layover.callback k on k.run_id = t.run_id and k.epoch = (p->>'epoch')::integer
        and k.path = p->>'path' and k.occurrence = (p->>'occurrence')::integer
      left join layover.pending b on b.run_id = t.run_id and b.path = p->>'path'
        and b.occurrence = (p->>'occurrence')::integer and b.kind = 'callback'
     where t.run_id = (p->>'runId')::uuid and t.namespace = p->>'namespace'),
    json_build_object('outcome', 'unknown'))
$$;

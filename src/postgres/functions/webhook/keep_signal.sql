-- Keeps a signal of a delivery for a run that is not there yet, for 96 hours. Senders keep no order, so the signal may come first. The
-- first claim of the run takes it. The scheduler looks once soon, since the run may be started at this very moment, and then at the end.
create or replace function layover.keep_signal(p jsonb, deed jsonb) returns void
language plpgsql volatile as $$
declare
  v_namespace constant text := coalesce(p->>'namespace', 'default');
  v_now   constant timestamptz := layover.now();
  v_count bigint;
  v_bytes bigint;
begin
  if not deed ? 'id' then
    raise exception 'there is no run %', deed->>'runId' using errcode = 'LO015';
  end if;
  select count(*), coalesce(sum(octet_length(u.payload)), 0) into v_count, v_bytes from layover.kept_signal u
   where u.namespace = v_namespace and u.workflow = deed->>'workflow' and u.user_id = deed->>'id';
  if v_count >= 100 or v_bytes + octet_length(deed->>'encodedPayload') > 16777216 then -- more would not fit into the run's mail
    raise exception '% signals of % bytes wait for the run "%" of workflow % already, and 100 of 16777216 may', v_count, v_bytes,
      deed->>'id', deed->>'workflow' using errcode = 'LO015';
  end if;
  select count(*), sum(octet_length(u.payload)) into v_count, v_bytes from layover.kept_signal u
   where u.namespace = v_namespace and u.webhook = p->>'webhook';
  if v_count >= 10000 or v_bytes + octet_length(deed->>'encodedPayload') > 67108864 then -- otherwise a sender could fill the disk
    raise exception '% signals of % bytes wait for runs already, and 10000 of 67108864 may', v_count, v_bytes using errcode = 'LO015';
  end if;
  insert into layover.kept_signal (namespace, workflow, user_id, id, webhook, delivery, dedupe_id, name, payload, kept_at, due_at, expires_at)
    values (v_namespace, deed->>'workflow', deed->>'id', (deed->>'signalId')::uuid, p->>'webhook', p->>'delivery', deed->>'dedupeId',
      deed->>'name', deed->>'encodedPayload', v_now, layover.pick_due(p->'armed', v_now),
      layover.pick_due(p->'armed', v_now + interval '96 hours'));
end $$;

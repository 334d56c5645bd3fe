-- Answers what is known of a delivery. `waiting`: how many of its signals wait for their run.
create or replace function layover.describe_delivery(j layover.delivery) returns json
language plpgsql volatile as $$
begin
  return json_build_object('webhook', j.webhook, 'id', j.id, 'outcome', j.outcome, 'reason', j.reason, 'deeds', j.deeds::json,
    'attempts', j.attempts, 'receivedAt', layover.to_ms(j.received_at), 'decidedAt', layover.to_ms(j.decided_at),
    'replays', coalesce(j.replays, '[]')::json, 'waiting', (select count(*) from layover.kept_signal u
      where u.namespace = j.namespace and u.webhook = j.webhook and u.delivery = j.id));
end $$;

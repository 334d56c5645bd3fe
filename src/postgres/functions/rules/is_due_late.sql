-- Whether the scheduler would look at a turn too late if it were claimed now and its process died: more than two minutes after the end of
-- the lease. So it is if the turn was dispatched in vain several times, since it is looked at less and less often then. A claim arms
-- nothing. So its process first brings the due instant nearer, and then claims. (Code of an earlier release does not: no `movesDue`.)
create or replace function layover.is_due_late(p jsonb, dispatches integer, due_at timestamptz) returns boolean
language sql stable as $$
  select dispatches > 2 and p ? 'movesDue' and due_at > layover.lease_end(p, layover.now()) + interval '2 minutes'
$$;

-- Whether a process understands all that the history of a run may hold. Processes of earlier releases do not say that they know epochs, or
-- the close of a run whose handler has thrown (`knowsThrows`).
create or replace function layover.is_understood(p jsonb, t layover.run_state) returns boolean
language sql immutable as $$
  select (t.epoch = 0 or p ? 'knowsEpochs') and (p ? 'knowsThrows' or t.cancel_reason is distinct from layover.after_throw())
$$;

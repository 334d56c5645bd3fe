-- Whether a finish that is deferred closes its run all the same: its handler has failed or was cancelled by what the turn saw, and by nothing
-- that is dropped with the deferred turn. Each replay by the same code comes to that end. It must be in time (ends_in_time).
create or replace function layover.ends_surely(t layover.run_state, f jsonb) returns boolean
language sql stable as $$
  select t.ending_position is null and (f->>'next' in ('failed', 'cancelled') or f ?| '{closing,ending}')
    and layover.count_of(f->'records') = (f ? 'ending')::integer and not f ?| '{attempt,closes,announces}'
    and layover.ends_in_time(t, f->'records')
$$;

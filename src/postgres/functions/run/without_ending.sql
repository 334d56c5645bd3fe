-- Answers a finish without its end: neither the result or error of the run, nor the record of what it owes. How it was to end (`endsAs`) counts
-- only where the run closes.
create or replace function layover.without_ending(f jsonb) returns jsonb
language sql immutable as $$
  select case when f ? 'ending' then (f - '{value,ending,closing,claim}'::text[]) || jsonb_build_object('records', (f->'records') - (-1))
    else f - '{value,closing,cleansUp}'::text[] end
$$;

-- Answers how many epochs in a row, with the one that ends now, have continued as new without ever waiting, each within a second of its
-- beginning. The more there are, the later the next one begins (begin_epoch): such a run might never end.
create or replace function layover.count_laps(run uuid, epoch integer, laps integer, ended_at timestamptz) returns integer
language plpgsql stable as $$
begin
  return case when ended_at >= layover.from_ms((layover.segments_of(run, epoch)->0->>'at')::bigint) + interval '1 second'
      or exists (select from layover.record h where h.run_id = run and h.epoch = count_laps.epoch and h.kind in ('sleep', 'signal', 'callback'))
    then 0 else least(laps + 1, 1000) end;
end $$;

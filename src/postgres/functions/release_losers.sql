-- A race is decided: what is pending below its path (`name[`) is released. No new claim, no signal; but a live lease may still
-- record its result (what was charged must be known to be refunded).
create or replace function layover.release_losers(run uuid, races jsonb) returns void
language plpgsql volatile as $$
declare
  v_now constant timestamptz := layover.now();
begin
  perform from layover.pending b
    where b.run_id = run and exists (select from jsonb_array_elements_text(races) as r (path)
      where starts_with(b.path, r.path))
    order by b.path, b.occurrence for update;
  delete from layover.pending b
   where b.run_id = run and (b.leased_until is null or b.leased_until <= v_now) and b.position is null
     and exists (select from jsonb_array_elements_text(races) as r (path) where starts_with(b.path, r.path));
  delete from layover.map m where m.run_id = run
    and exists (select from jsonb_array_elements_text(races) as r (path) where starts_with(m.path, r.path));
  update layover.pending b set is_released = true, is_queued = false, is_counted = false
   where b.run_id = run and b.leased_until > v_now
     and exists (select from jsonb_array_elements_text(races) as r (path) where starts_with(b.path, r.path));
end $$;

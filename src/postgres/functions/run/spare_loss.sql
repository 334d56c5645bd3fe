-- Spares a turn one lost lease, since the holder of that lease is alive. At most five times in a row: otherwise a body that blocks its
-- process for longer than a lease would run beside others for ever.
create or replace function layover.spare_loss(run uuid, path text, occurrence integer, token uuid) returns void
language plpgsql volatile as $$
begin
  if path is null then
    update layover.run_state t set spared = t.spared + 1, lost_token = null
     where t.run_id = run and t.lost_token = spare_loss.token and t.spared < least(t.lost, 5);
  else
    update layover.pending b set spared = b.spared + 1, lost_token = null
     where b.run_id = run and b.path = spare_loss.path and b.occurrence = spare_loss.occurrence
       and b.lost_token = spare_loss.token and b.spared < least(b.lost, 5);
  end if;
end $$;

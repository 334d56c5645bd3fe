-- Whether a run takes no answer to a callback any more: it is over, closes or is being undone, or the callback's URL belongs to a history that
-- was left. A retry of a run that was undone repeats failed undos only. `p`: what the URL says.
create or replace function layover.takes_no_answer(t layover.run_state, p jsonb) returns boolean
language sql stable as $$
  select layover.is_over(t.status) or t.cancelled_position is not null or t.ending_position is not null
    or not layover.is_epoch_alive(t.run_id, t.epoch, p)
$$;

-- Claims a set of turns, of runs and of branches. Each gets an answer of its own.
--
-- The answers stay within the caller's budget of bytes (`budgetBytes`): a turn that does not fit is not claimed, and answers
-- `later`. A turn that must go alone comes in a call of its own, since it locks its run: other claims of branches read the run without
-- a lock.
--
-- It waits for a lock for 10 s, since its caller gives up after 15 s (see finish_turns).
--
-- Deliveries of webhooks may have kept signals for a run before it was there: its first claim takes them.
create or replace function layover.claim_turns(p jsonb) returns json
language plpgsql volatile set lock_timeout = '10s' as $$
declare
  v_answers json[] := '{}';
  v_fitting integer;
  v_left    integer := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.check_isolation();
  end if;
  if p->'turns' @> '[{"turn": 1}]' and exists (select from layover.kept_signal u where u.namespace = p->>'namespace') then
    perform layover.take_kept_of_claimed(p);
  end if;
  if jsonb_array_length(p->'turns') = 1 then
    v_answers[1] := layover.claim_turn(p, p->'turns'->0);
  else
    if p ? 'budgetBytes' then
      v_fitting := layover.count_fitting(p);
      v_left := jsonb_array_length(p->'turns') - v_fitting;
      if v_left > 0 then
        p := jsonb_set(p, '{turns}', jsonb_path_query_array(p, format('$.turns[0 to %s]', v_fitting - 1)::jsonpath));
      end if;
    end if;
    v_answers := layover.claim_or_finish(p, is_finish => false);
  end if;
  if layover.is_too_late(p) then
    perform layover.check_time(p);
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(
    v_answers || array_fill(json_build_object('outcome', 'later'), array[v_left])));
end $$;

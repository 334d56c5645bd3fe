-- Finishes a set of turns. Each gets an answer of its own.
--
-- If one of them raises, for whatever reason (also a full disk), the set is done again item by item, so that one bad item does not
-- fail the others. Only a deadlock fails the whole call: the caller sends it again at once.
--
-- It waits for a lock for 5 s. A user's open transaction that has signalled one of these runs may hold that for an hour. The caller gives up
-- after 15 s, but a statement that nobody awaits any more would wait on, and keep the locks of the others.
create or replace function layover.finish_turns(p jsonb) returns json
language plpgsql volatile set lock_timeout = '5s' as $$
declare
  v_answers json[] := '{}';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform layover.check_isolation();
  end if;
  if jsonb_array_length(p->'turns') = 1 then
    v_answers[1] := layover.finish_turn(p, p->'turns'->0);
  else
    v_answers := layover.claim_or_finish(p, is_finish => true);
  end if;
  if layover.is_wrongly_armed(p) then
    perform layover.check_armed(p);
  end if;
  return json_build_object('now', layover.to_ms(layover.now()), 'turns', array_to_json(v_answers));
end $$;

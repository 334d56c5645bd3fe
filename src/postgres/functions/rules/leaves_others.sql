-- Whether a finish, or one of a list of them, may end the wait for other runs: it ends the run, closes it, has it continue as new, has lost a race,
-- or has waited for a child for too long. Then those runs are asked to end (leave_children). A finish that blocks the run may end it, too: it may
-- take its retry back.
create or replace function layover.leaves_others(finishes jsonb) returns boolean
language sql immutable as $$
  select finishes @? '$[*] ? (@.next == "completed" || @.next == "failed" || @.next == "cancelled" || @.next == "blocked"
    || exists (@.ending) || exists (@.closing) || exists (@.continues) || exists (@.released)
    || exists (@.records[*] ? (@.kind == "child" && !exists (@.value))))'
$$;

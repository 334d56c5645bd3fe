-- Answers how a run ends whose timeout has passed, as `run_state.ends_as` keeps it. The error says the same as `timedOut` in src/engine/turn/ending.ts.
create or replace function layover.end_at_timeout(run uuid) returns jsonb
language sql stable as $$
  select jsonb_build_object('next', 'failed', 'value', '0' || jsonb_build_object('name', 'LayoverError', 'code', 'run_timeout',
      'message', format('the run of "%s" was not over at its timeout', r.workflow),
      'hint', 'Raise the contract''s timeout, or find what the run waited for in its history.')::text)
    from layover.run r where r.id = run
$$;

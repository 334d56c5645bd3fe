-- Ends a run that its caller has locked, as `cancelled`: no lease survives, and nothing of what it waited for. A claim of a branch that has
-- read the run before is over then, and its row goes too.
create or replace function layover.end_run(run uuid, error jsonb) returns void
language plpgsql volatile as $$
begin
  update layover.run_state t
     set status = 'cancelled', token = null, leased_until = null, ready_at = null, due_at = null, blocked = null,
         ended_at = layover.now(), ends_as = null,
         finished_answer = coalesce(t.finished_answer, layover.plain_answer(t.turn, t.status)::text), -- for a finish that comes again
         error = '0' || (end_run.error || '{"name": "CancelledError"}')::text
   where t.run_id = run;
  perform from layover.pending b where b.run_id = run order by b.path, b.occurrence for update;
  delete from layover.pending b where b.run_id = run;
  delete from layover.map m where m.run_id = run;
end $$;

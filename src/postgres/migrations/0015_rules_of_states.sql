-- Postgres reads the text of a CHECK anew in each statement that writes a row: these cost a step a sixth of the database's
-- time. Only layover's functions write these tables, so the tests hold the rules (test/postgres/rules-of-states.sql).

alter table layover.run_state
  drop constraint run_state_status_check, drop constraint run_state_check, drop constraint run_state_check1,
  drop constraint run_state_check2, drop constraint run_state_check3, drop constraint run_state_check4,
  drop constraint run_state_check5, drop constraint run_state_check6;
alter table layover.pending
  drop constraint pending_check, drop constraint pending_check1, drop constraint pending_check4;

-- Refuses the COMMIT of a transaction that started a run and lasted longer than it promised: the run was armed for an instant after
-- the promised COMMIT.
create or replace function layover.refuse_late_commit() returns trigger
language plpgsql volatile as $$
begin
  if layover.now() > new.commit_by then
    raise exception 'the run % was started in a transaction that lasted longer than it promised', new.id
      using errcode = 'LO004', hint = 'Start again, with a longer commitWithin.';
  end if;
  return null;
end $$;

do $$
begin
  if not exists (select 1 from pg_trigger where tgname = 'run_late_commit' and tgrelid = 'layover.run'::regclass) then
    create constraint trigger run_late_commit after insert on layover.run deferrable initially deferred
      for each row when (new.commit_by is not null) execute function layover.refuse_late_commit();
  end if;
end $$;

-- Claims or finishes (`is_finish`) a set of runs, or a set of branches of one run.
create or replace function layover.claim_or_finish_set(p jsonb, items jsonb[], are_runs boolean, is_finish boolean)
returns table (place bigint, answer json)
language plpgsql volatile as $$
begin
  if is_finish and are_runs then
    return query select i.place, i.answer from layover.finish_runs(p, items) as i;
  elsif is_finish then
    return query select i.place, i.answer from layover.finish_branches(p, items) as i;
  elsif are_runs then
    return query select i.place, i.answer from layover.claim_runs(p, items) as i;
  else
    return query select i.place, i.answer from layover.claim_branches(p, items) as i;
  end if;
end $$;

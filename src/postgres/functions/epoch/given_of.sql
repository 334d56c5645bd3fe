-- Answers which records of a run's next history hold a result that a person gave, and who gave it: {"position": "ada"}. It is what stands in
-- the history before, at the positions that the records will have (`kept`), and what the person `by` gives now (`results`). Null: there are
-- none.
create or replace function layover.given_of(run uuid, epoch integer, kept integer[], results jsonb, "by" text) returns jsonb
language plpgsql stable as $$
declare
  v_given constant jsonb := (select e.before->'given' from layover.epoch e where e.run_id = run and e.epoch = given_of.epoch);
begin
  return (
    select jsonb_object_agg(k.place, case when results ? k.position::text then "by" else v_given->>k.position::text end)
      from unnest(kept) with ordinality as k (position, place)
     where results ? k.position::text or v_given ? k.position::text);
end $$;

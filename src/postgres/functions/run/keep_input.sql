-- Keeps the input that the code of a run's schedule has made. From then on the run is as any other: no later code makes it anew. An epoch
-- that was begun before that has no input of its own.
create or replace function layover.keep_input(run uuid, epoch integer, input text) returns void
language plpgsql volatile as $$
begin
  update layover.run r set input = keep_input.input, is_input_parsed = true where r.id = run and not r.is_input_parsed;
  update layover.epoch e set is_input_parsed = true
   where e.run_id = run and e.epoch = keep_input.epoch and e.input is null and not e.is_input_parsed;
end $$;

-- Does what a person asks to each of these runs, in the order of their ids, and answers what each one answers. A run that waits for the end of
-- one of them is locked in its place in that order.
--
-- If a run has too many operations, all is done again, each run by itself, and that run is refused.
create or replace function layover.operate_each(verb text, p jsonb, runs uuid[]) returns json[]
language plpgsql volatile as $$
declare
  v_answers json[];
  i         record;
begin
  for v_try in 1 .. 2 loop
    begin
      v_answers := '{}';
      for i in
        select o.run, bool_or(o.is_meant) as is_meant from (
          select f.run, true as is_meant from unnest(runs) as f (run)
          union all
          select r.parent_run_id, false from unnest(runs) as f (run)
            join layover.run_state t on t.run_id = f.run and t.has_parent join layover.run r on r.id = f.run
           where verb in ('cancel', 'terminate')) as o
         group by o.run order by o.run
      loop
        if not i.is_meant then
          perform from layover.run_state t where t.run_id = i.run for update;
        elsif v_try = 1 then
          v_answers := v_answers || layover.operate_run(verb, p || jsonb_build_object('runId', i.run));
        else
          begin
            v_answers := v_answers || layover.operate_run(verb, p || jsonb_build_object('runId', i.run));
          exception when sqlstate 'LO012' then
            v_answers := v_answers || json_build_object('outcome', 'too_many_operations', 'runId', i.run);
          end;
        end if;
      end loop;
      return v_answers;
    exception when sqlstate 'LO012' then
    end;
  end loop;
end $$;

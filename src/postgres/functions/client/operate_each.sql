-- Does what a person asks to each of these runs, in the order of their ids, and answers what each one answers. Other runs that it may change
-- are locked before.
--
-- If a run has too many operations, or too many signals, all is done again, each run by itself, and that run is refused.
create or replace function layover.operate_each(verb text, p jsonb, runs uuid[]) returns json[]
language plpgsql volatile as $$
declare
  v_answers json[];
  v_run     uuid;
begin
  for v_try in 1 .. 2 loop
    begin
      v_answers := '{}';
      if verb in ('cancel', 'terminate', 'restart') or p ? 'cancels' then
        perform layover.lock_steady_families(runs);
      elsif verb in ('retry', 'delete') then -- a parent never changes, and a run that is over waits for none
        perform layover.lock_families(runs, with_children => false);
      end if;
      foreach v_run in array runs loop
        if v_try = 1 then
          v_answers := v_answers || layover.operate_run(verb, p || jsonb_build_object('runId', v_run));
        else
          begin
            v_answers := v_answers || layover.operate_run(verb, p || jsonb_build_object('runId', v_run));
          exception when sqlstate 'LO012' or sqlstate 'LO007' then
            v_answers := v_answers || json_build_object('runId', v_run, 'outcome',
              case sqlstate when 'LO012' then 'too_many_operations' else 'too_many_signals' end);
          end;
        end if;
      end loop;
      return v_answers;
    exception when sqlstate 'LO012' or sqlstate 'LO007' then
    end;
  end loop;
end $$;

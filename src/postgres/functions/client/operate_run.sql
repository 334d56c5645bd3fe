-- Does what a person asks to one run: the entry of that verb says what.
create or replace function layover.operate_run(verb text, p jsonb) returns json
language plpgsql volatile as $$
begin
  return case verb
    when 'pause' then layover.pause_run(p)
    when 'resume' then layover.resume_run(p)
    when 'cancel' then layover.cancel_run(p)
    when 'terminate' then layover.terminate_run(p)
  end;
end $$;

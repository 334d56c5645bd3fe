-- Locks runs with their families, for a caller who holds no lease of theirs: until they are locked, each of them may start one run more.
-- Then all locks are given back, as a subtransaction that fails does, and it begins again.
create or replace function layover.lock_steady_families(runs uuid[]) returns void
language plpgsql volatile as $$
declare
  v_before uuid[];
begin
  loop
    v_before := array(select f.run from layover.families_of(runs, true) as f);
    begin
      perform layover.lock_families(runs, true);
      if array(select f.run from layover.families_of(runs, true) as f) <@ v_before then
        return;
      end if;
      raise exception 'a run has started another one meanwhile' using errcode = 'LO014';
    exception when sqlstate 'LO014' then
    end;
  end loop;
end $$;

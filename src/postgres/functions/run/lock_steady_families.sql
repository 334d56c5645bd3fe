-- Locks runs with their families. If a family grew until it was locked, all these locks are given back, as a subtransaction that fails does, and
-- it begins again: a lock more would be out of the one order.
create or replace function layover.lock_steady_families(runs uuid[]) returns void
language plpgsql volatile as $$
begin
  loop
    begin
      if layover.lock_families(runs, with_children => true) then
        return;
      end if;
      raise exception 'a family has grown meanwhile' using errcode = 'LO014';
    exception when sqlstate 'LO014' then
    end;
  end loop;
end $$;

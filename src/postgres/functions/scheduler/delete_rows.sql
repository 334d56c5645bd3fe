-- Deletes all rows of a run. There are no foreign keys, so a table whose rows belong to a run must stand here. Its stored values are
-- deleted by the next sweep after an hour (sweep_values). If a run that goes on has invoked it, and knows nothing of its end (it has lost a
-- race), that run keeps an attempt, so that it still undoes it. A run of a history that was dropped is nothing to undo.
--
-- An end that stands in a row may still be taken, unless the row is released: who releases it looks whether the run is there
-- (keep_deleted). The lock of the run that has invoked this one puts the two in order. Whoever deletes runs by age waits for no run. So if somebody
-- else has that lock, nobody knows what becomes of the row, and the attempt is kept: one too many changes no undo.
create or replace function layover.delete_rows(run uuid) returns void
language plpgsql volatile as $$
declare
  v_parent constant uuid := (select p.run_id from layover.run r join layover.run_state p on p.run_id = r.parent_run_id and p.ended_at is null
    where r.id = run);
  v_is_still boolean;
begin
  if v_parent is not null then
    perform from layover.run_state p where p.run_id = v_parent for share skip locked;
    v_is_still := found;
    perform layover.keep_untaken(v_parent, r.parent_path, r.parent_occurrence, r.created_at, t.ended_at)
      from layover.children_of(v_parent) r join layover.run_state t on t.run_id = r.id join layover.run_state p on p.run_id = v_parent
     where r.id = run
       and not exists (select from layover.pending b
         where b.run_id = v_parent and b.path = r.parent_path and b.occurrence = r.parent_occurrence and not b.is_released and v_is_still)
       and not exists (select from layover.record h
         where h.run_id = v_parent and h.epoch = p.epoch and h.path = r.parent_path and h.occurrence = r.parent_occurrence);
  end if;
  delete from layover.run_state t where t.run_id = run;
  delete from layover.pending b where b.run_id = run;
  delete from layover.map m where m.run_id = run;
  delete from layover.signal g where g.run_id = run;
  delete from layover.callback k where k.run_id = run;
  delete from layover.attempt a where a.run_id = run;
  delete from layover.setback w where w.run_id = run;
  delete from layover.record h where h.run_id = run;
  delete from layover.patch x where x.run_id = run;
  delete from layover.epoch e where e.run_id = run;
  delete from layover.tag l where l.run_id = run;
  delete from layover.operation x where x.run_id = run;
  update layover.stored_value o set look_at = layover.now() + interval '1 hour' where o.run_id = run; -- late calls are over by then
  delete from layover.run r where r.id = run;
end $$;

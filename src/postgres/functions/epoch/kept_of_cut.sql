-- Answers the positions of the records that a history keeps which is cut after so many. The announcement of a callback that was answered
-- after the cut is not kept where its URL belongs to another run, since nobody answers that again: it is announced anew. In a fork
-- (`for_other`) all URLs do, and in what follows on a fork those that the fork has copied.
create or replace function layover.kept_of_cut(run uuid, epoch integer, kept integer, for_other boolean) returns integer[]
language plpgsql stable as $$
declare
  v_copied constant integer := case when for_other then kept else (
    select min((g.segment->>'from')::integer) from jsonb_array_elements(layover.segments_of(run, epoch)) as g (segment)
     where (g.segment->>'run')::uuid = run) end;
  v_again  constant text[] := array(
    select k.path || case when k.occurrence > 1 then '#' || k.occurrence else '' end || '/announce' from layover.record k
     where k.run_id = run and k.epoch = kept_of_cut.epoch and k.position > kept and k.kind = 'callback');
begin
  return array(
    select h.position from layover.record h
     where h.run_id = run and h.epoch = kept_of_cut.epoch and h.position <= kept
       and not (h.position <= v_copied and h.kind = 'step' and h.path = any (v_again))
     order by h.position);
end $$;

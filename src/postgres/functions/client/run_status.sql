-- Answers the status that people see of a run, from its row and from what it waits for.
create or replace function layover.run_status(s layover.run_state) returns text
language plpgsql volatile as $$
begin
  return (
    select case
      when s.ended_at is not null then s.status
      when s.blocked is not null then 'blocked'
      when s.paused_at is not null then 'paused'
      when s.ending_position is not null or s.is_closing then 'compensating'
      when s.cancelled_position is not null or s.cancel_requested_at is not null then 'cancelling'
      when s.status = 'running' then 'running'
      when s.ready_at <= layover.now() then 'queued'
      when p.is_running then 'running'
      when exists (select from layover.setback w where w.run_id = s.run_id and w.path = '' and w.turn = s.turn)
        then 'retrying'
      when p.is_queued then 'queued'
      when p.is_retrying then 'retrying'
      when p.is_waiting then 'waiting'
      when p.is_sleeping then 'sleeping'
      when s.handed_position < 0 then 'sleeping'
      else 'queued'
    end
    from (
      select bool_or(b.token is not null) as is_running,
          bool_or(b.kind = 'branch' and b.ready_at <= layover.now() and b.position is null) as is_queued,
          bool_or(b.kind in ('retry', 'branch') and b.position is null) as is_retrying,
          bool_or(b.kind = 'sleep') as is_sleeping,
          bool_or(b.kind in ('signal', 'callback') or b.kind = 'child' and not b.is_released) as is_waiting
        from layover.pending b where b.run_id = s.run_id
    ) as p
  );
end $$;

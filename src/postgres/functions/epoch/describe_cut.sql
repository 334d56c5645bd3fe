-- Answers what a cut after so many records drops: how many records, and the first 100 of them.
create or replace function layover.describe_cut(run uuid, epoch integer, kept integer) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object('kept', describe_cut.kept, 'dropped', count(*), 'records', coalesce(jsonb_agg(jsonb_build_object(
        'position', h.position, 'kind', h.kind, 'path', h.path, 'occurrence', h.occurrence, 'isFailure', h.is_failure)
        order by h.position) filter (where h.position <= describe_cut.kept + 100), '[]'))
      from layover.record h where h.run_id = run and h.epoch = describe_cut.epoch and h.position > describe_cut.kept);
end $$;

-- Keeps a schedule that is declared, or made, as it was. The text of its input may be another one, since a new key encrypts it: that is
-- stored, and when the schedule fires stays. What deployments declare that are not alive is dropped: they declare anew when they come back.
create or replace function layover.keep_schedule(v layover.schedule, given jsonb) returns void
language plpgsql volatile as $$
declare
  v_left constant jsonb := (
    select jsonb_object_agg(e.key, e.value) from jsonb_each(v.declarations) as e
     where e.key in (select l.name from layover.live_deployments(v.namespace) as l));
begin
  if v.definition <> given or v.declarations is distinct from v_left then
    update layover.schedule o set definition = given, declarations = v_left where o.namespace = v.namespace and o.name = v.name;
  end if;
end $$;

-- The runs of each schedule that may not be over: `overlap: "skip"` looks at them. A run that is over is forgotten by a later firing.
create table layover.scheduled_run (
  namespace text not null,
  schedule  text not null,
  run_id    uuid not null,
  primary key (namespace, schedule, run_id)
);
insert into layover.scheduled_run (namespace, schedule, run_id)
  select v.namespace, v.name, v.last_run_id from layover.schedule v where v.last_run_id is not null;

-- Each firing of a schedule that allows overlaps looks for runs that are over. This column says at which run the last one stopped. Null: the
-- next one begins with the first run.
alter table layover.schedule add column swept_through uuid;

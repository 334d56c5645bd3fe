-- The runs of each schedule that may not be over: `overlap: "skip"` looks at them. A run that is over is forgotten by a later firing.
create table layover.scheduled_run (
  namespace text not null,
  schedule  text not null,
  run_id    uuid not null,
  primary key (namespace, schedule, run_id)
);
insert into layover.scheduled_run (namespace, schedule, run_id)
  select v.namespace, v.name, v.last_run_id from layover.schedule v where v.last_run_id is not null;

-- Of a schedule that allows overlaps: up to which run its last firing has looked for runs that are over. Null: it begins with the first.
alter table layover.schedule add column swept_through uuid;

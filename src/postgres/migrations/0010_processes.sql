-- The processes that arm alarms at each other, and where each of them is reached by the others. Written when a process
-- begins and when it ends, hourly at most by the scheduler, and once a minute while another one cannot be reached.

create table layover.process (
  namespace   text not null,
  id          uuid not null,                 -- made anew by each process
  environment text not null,
  door        text not null,                 -- its address between processes, with the prefix of its paths
  versions    json not null,                 -- of the workflows that it carries, by name
  seen_at     timestamptz not null,          -- when it wrote this row
  primary key (namespace, id)
);

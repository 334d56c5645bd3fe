-- The changes of its code that a run has met (`step.patched`): where its handler stood when it was told so first.
create table layover.patch (
  run_id   uuid not null,
  epoch    integer not null,
  path     text not null,             -- the scope and the name of the change
  position integer not null,          -- of the last record that the handler knew
  primary key (run_id, epoch, path)
);

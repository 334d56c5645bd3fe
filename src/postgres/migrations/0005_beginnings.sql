-- How many of the lone claims in a row that `claims` counts were begun: the answers of the others may never have come.

alter table layover.run_state add column beginnings smallint not null default 0;
alter table layover.pending add column beginnings smallint not null default 0;

-- What becomes of a run when nobody waits for it any more: 'cancel': it is cancelled then; 'cancelled': it was; null: it goes on.
alter table layover.pending add column child_bond text;

-- A digest of what was sent, where the contract's schema made something else of it: one that draws a date or an id makes
-- another value each time, and the same start or answer again must be known as the same. Null: what is stored was sent.

alter table layover.run add column sent text;
alter table layover.callback add column sent text;

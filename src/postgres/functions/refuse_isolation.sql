-- Looking after the lock needs a fresh snapshot for each statement, which only read committed gives.
create or replace function layover.refuse_isolation() returns void
language plpgsql volatile as $$
begin
  raise exception 'layover needs isolation level read committed, not %', current_setting('transaction_isolation')
    using errcode = 'LO001', hint = 'Call it outside this transaction, or begin the transaction with read committed.';
end $$;

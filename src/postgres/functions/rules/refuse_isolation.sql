-- Looking after the lock needs a fresh snapshot for each statement, which only read committed gives.
create or replace function layover.refuse_isolation() returns void
language plpgsql volatile as $$
begin
  raise exception 'layover needs isolation level read committed, not %', current_setting('transaction_isolation')
    using errcode = 'LO001', hint = format(
      'If you began the transaction, begin it with isolation level read committed. If nobody did, the role has another '
      'default: alter role %I set default_transaction_isolation = ''read committed''.', session_user);
end $$;
